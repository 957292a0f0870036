// Running a window under a policy, and keeping account of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/engines.h"
#include "bench/workload.h"
#include "relaygen/policies.h"
#include "relaygen/relay.h"

namespace relaygen::bench {

/// A policy under the name that the user gave it.
struct NamedPolicy {
  std::string name{};
  PreparedPolicy prepared{};
};

/// One text, written or replayed.
struct Account {
  Schedule schedule{};             ///< its batches, in order
  std::vector<double> measured{};  ///< seconds of each
  double seconds = 0;              ///< all of it
  Usage usage{};
  std::vector<Segment> segments{};

  [[nodiscard]] PartTimes parts() const;  ///< `measured` by part
  /// What was not spent in batches: choosing tokens, matching, events.
  [[nodiscard]] double other() const { return seconds - parts().seconds(); }
};

/// The books of a text that was run, from start() on.
[[nodiscard]] Account account_of(const RecordingEngine& books, const Completion& completion);

/// Tokens of context that replaying a window takes: its own, and what the loop keeps free for an answer, so that no
/// budget interferes.
[[nodiscard]] std::size_t room_for(std::size_t context, std::size_t text);

/// Replays windows on an engine, one after another, and leaves the context of a window in the caches in between.
/// Not thread-safe.
class Replayer {
 public:
  /// `engine` must outlive it, and nobody else may use it from prepare() to the last run() of a window.
  explicit Replayer(Engine& engine) : engine_(engine), books_(engine), replay_(books_) {}

  /// Takes up a window: both models read its context. Returns the seconds of both.
  /// Errors: too_long where the engine's window does not hold it, bad_input, those of decode.
  [[nodiscard]] Result<double> prepare(const Window& window);

  /// Runs the prepared window. Where the large model checks what the small one says, that is right with probability
  /// `acceptance` at each place, the same places for every policy. Errors: those of Generation, and `internal` where
  /// another text came out.
  [[nodiscard]] Result<Account> run(const NamedPolicy& policy, const RunOptions& options = {}, double acceptance = 1);

  /// Times batches of every size that the schedule holds, in the middle of the prepared window, frequent sizes more
  /// often: the mean of each. Errors: those of decode.
  [[nodiscard]] Result<CostModel> price(std::span<const Batch> schedule, const Clock& clock = steady_clock());

 private:
  Result<Account> run_request(Request request, const RunOptions& options);
  [[nodiscard]] Request base_request() const;
  [[nodiscard]] Result<std::vector<bool>> mistakes_under(const NamedPolicy& policy, double acceptance) const;

  Engine& engine_;
  RecordingEngine books_;
  ReplayEngine replay_;
  Window window_;
  std::optional<Generation> previous_;
};

/// Runs any request on an engine and keeps account of it: what Replayer does, for texts that the models choose.
[[nodiscard]] Result<Account> run_live(RecordingEngine& books, const Request& request, const RunOptions& options = {});

}  // namespace relaygen::bench
