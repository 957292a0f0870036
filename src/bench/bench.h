// Policies side by side, in one run.
//
// Machines drift: a decode may take a third longer a minute later. So policies are interleaved, every comparison is a
// ratio of neighbours in time, and what is reported is the median of the ratios over the repetitions.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/replay.h"
#include "relaygen/cost_model.h"

namespace relaygen::bench {

struct BenchOptions {
  std::size_t repetitions = 6;
  bool explain = false;              ///< of live texts: measure their batches afterwards, for the ideal time
  double acceptance = 1;             ///< of replayed texts: how often the small model is right where that is checked
  const CostModel* costs = nullptr;  ///< for the length of drafts; null: usual ones
  Clock clock = steady_clock();
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(double fraction)> progress{};  ///< may be empty
};

/// One policy at one depth. Numbers are of one repetition over all texts.
struct BenchRow {
  std::string policy{};
  std::size_t depth = 0;             ///< tokens before the texts; 0 for live ones
  std::vector<double> seconds{};     ///< of each repetition
  std::vector<double> speed_up{};    ///< baseline seconds / seconds, of each repetition
  std::vector<double> over_ideal{};  ///< seconds / ideal seconds - 1, of each repetition; empty without a cost model
  PartTimes actual{};                ///< mean over the repetitions
  PartTimes ideal{};                 ///< likewise; all 0 without a cost model
  double other = 0;                  ///< seconds outside the batches, likewise
  double dry = 0;                    ///< seconds on engines without models, where only the program itself takes time
  Usage usage{};                     ///< sums over the texts
  std::vector<std::vector<Segment>> segments{};  ///< of each text
};

struct BenchResult {
  std::vector<BenchRow> rows{};
  std::vector<std::pair<Model, BatchCost>> costs{};  ///< medians
  double prefill = 0;                                ///< seconds to read all contexts, both models
};

/// Replays the windows, all with a context of the same length, under every policy. The first policy is the baseline.
/// Requires at least one window, policy and repetition. Errors: those of Replayer; cancelled.
[[nodiscard]] Result<BenchResult> bench_replay(Engine& engine, std::span<const Window> windows,
                                               std::span<const NamedPolicy> policies, const BenchOptions& options);

/// Lets the policies write texts of their own. `request` holds everything but policy and cues.
[[nodiscard]] Result<BenchResult> bench_live(Engine& engine, std::span<const Request> requests,
                                             std::span<const NamedPolicy> policies, const BenchOptions& options);

/// Seconds that a handoff costs beyond its batches: what a row takes more than the baseline where batches cost nothing,
/// a handoff (choosing the tokens that are dropped again, snapshots, bookkeeping). Nothing for live texts, where there
/// are no handoffs, and where there are drafts or verification, whose own cost would count.
[[nodiscard]] std::optional<double> handoff_overhead(const BenchRow& row, const BenchRow& baseline);

}  // namespace relaygen::bench
