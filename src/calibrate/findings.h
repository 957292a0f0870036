// What else the stored traces tell: how much the selected cues hand over, thresholds, who may answer, and whether control
// by sentence is fine enough. Each from problems that did not choose the cues, where there are enough.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/analysis.h"

namespace relaygen::calibrate {

inline constexpr std::size_t kMarginBins = 20;  ///< of equal width over [0, 1]
using Histogram = std::array<std::uint64_t, kMarginBins>;

/// The selected cues laid over traces again, as the relay would.
struct Handover {
  Interval share_of_thinking{};  ///< tokens by the small model
  Interval share{};              ///< with the answers, where the small model writes those
  double handoffs = 0;           ///< a trace
  double segment_tokens = 0;     ///< mean length of a small segment of the thinking
};

/// The share of the thinking if only the best candidates were cues, the best first.
struct ShareStep {
  std::uint32_t candidate = 0;  ///< that this step adds
  double share = 0;
};

struct Thresholds {
  std::uint64_t tokens = 0;   ///< of the thinking that they come from
  double verify_epsilon = 0;  ///< so that 1% of the large model's own tokens fail, with delta = sqrt(epsilon)
  std::optional<double> guard_margin{};  ///< so that it stops 5% of the tokens that the large model accepts
  double guard_catches = 0;              ///< so many of the refused ones it stops
  std::uint64_t guard_refused = 0;       ///< of so many
  std::optional<double>
      draft_acceptance{};  ///< share of the large model's tokens that are the small one's first choice
};

struct Answers {
  std::uint32_t compared = 0, same = 0;
  Interval agreement{};
  std::optional<double> right_large{}, right_small{};  ///< where right answers are known
  /// The agreement is surely at least 95%.
  [[nodiscard]] bool small_may_answer() const { return compared > 0 && agreement.low >= 0.95; }
};

/// Variance of the small model's margins, of which a choice by sentence can see what lies between sentences.
struct MarginVariance {
  double between = 0, within = 0;  ///< mean squares; their sum is the variance of tokens
  std::uint64_t sentences = 0, tokens = 0;
};

struct ExampleTrace {
  TraceKey key{};
  std::vector<std::string> pieces{};  ///< text of each token of the thinking, in whole characters
  std::vector<float> small_margin{}, large_margin{};
  std::vector<Occurrence> handoffs{};  ///< tokens counted from the beginning of the thinking
};

struct Findings {
  bool apart = false;  ///< shares and example are from problems kept for reporting; else from all
  Handover handover{};
  std::vector<ShareStep> steps{};
  Thresholds thresholds{};
  Answers answers{};
  MarginVariance variance{};
  Histogram all_margins{};               ///< of the small model, over the thinking of the problems for selection
  std::vector<Histogram> cue_margins{};  ///< behind each candidate; empty where it does not occur
  std::optional<ExampleTrace> example{};
};

/// Errors: those of the store.
[[nodiscard]] Result<Findings> find_out(const Store& store, const Analysis& analysis);

}  // namespace relaygen::calibrate
