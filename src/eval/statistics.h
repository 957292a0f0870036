// Statistics of an evaluation: accuracy, differences and speed ratios with honest intervals.
//
// The unit is the question. Several samples of one question are not independent, so all standard errors and bootstraps
// are clustered by question. All functions are pure; randomness comes from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace relaygen::eval {

/// One question under one policy.
struct QuestionResult {
  std::uint32_t right = 0;    ///< samples graded right
  std::uint32_t samples = 0;  ///< samples graded, >= 1
  double seconds = 0;         ///< sum over the samples
};

/// An estimate with its 95% interval.
struct Estimate {
  double value = 0, low = 0, high = 0;
  double standard_error = 0;  ///< NaN where the interval does not come from one
};

/// pass@1: mean over questions of the share of right samples. Interval: Wilson's at one sample a question, else from
/// the standard error clustered by question (never outside [0, 1], never empty at 0 and 1). Requires a non-empty span.
[[nodiscard]] Estimate accuracy(std::span<const QuestionResult> questions);

/// Mean over the same questions of (policy - baseline), interval by a bootstrap over questions. Both spans have equal
/// length and order. Not degenerate where all differences are equal: there the interval comes from Wilson's rule of
/// the number of disagreements.
[[nodiscard]] Estimate accuracy_difference(std::span<const QuestionResult> policy,
                                           std::span<const QuestionResult> baseline, std::uint64_t seed);

/// sum(baseline seconds) / sum(policy seconds) over the same questions, interval by a bootstrap over questions.
[[nodiscard]] Estimate speed_up(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline,
                                std::uint64_t seed);

/// Exact McNemar test, two-sided, for one sample a question.
struct McNemar {
  std::uint64_t only_baseline = 0;  ///< questions that only the baseline got right
  std::uint64_t only_policy = 0;
  double p = 1;
};
[[nodiscard]] McNemar mcnemar(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline);

/// Non-inferiority at a margin that was fixed beforehand: the policy may lose at most `margin` of accuracy.
enum class NonInferiority : std::uint8_t {
  kept,       ///< the interval of the difference lies above -margin
  lost,       ///< it lies below -margin
  undecided,  ///< it contains -margin
};
[[nodiscard]] std::string_view name(NonInferiority verdict);

struct Verdict95 {
  NonInferiority verdict = NonInferiority::undecided;
  /// For undecided: about how many more questions would decide, if the difference stays where it is; none where more
  /// than a million would be needed (the difference is as good as the margin itself).
  std::optional<std::uint64_t> more_questions{};
};
[[nodiscard]] Verdict95 non_inferiority(const Estimate& difference, std::size_t questions, double margin);

/// Median with the distribution-free 95% interval from order statistics (for fewer than 6 values: the range).
/// Requires a non-empty span.
[[nodiscard]] Estimate median(std::span<const double> values);

}  // namespace relaygen::eval
