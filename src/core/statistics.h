// Statistics of an evaluation: accuracy, differences and speed ratios with honest intervals.
//
// The unit is the question. Several samples of one question are not independent, so every standard error and interval
// is clustered by question: questions are the draws, and samples only make the result of a question less noisy. All
// functions are pure, take one pass or a few over the questions, and do not depend on their order beyond rounding. None
// of them draws random numbers. Which formulas, why no bootstrap, and how well the intervals cover: docs/statistics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace relaygen {

/// One question under one policy.
struct QuestionResult {
  std::uint32_t right = 0;    ///< samples graded right, <= samples
  std::uint32_t samples = 0;  ///< samples graded, >= 1
  double seconds = 0;         ///< sum over the samples; finite and >= 0
};

/// An estimate with its 95% interval. The intervals are not value +- 1.96 standard errors: they are asymmetric where
/// the estimate is near a bound or rests on few disagreements.
struct Estimate {
  double value = 0, low = 0, high = 0;
  double standard_error = 0;  ///< clustered by question, for tables and for planning; NaN where there is none
};

/// pass@1: mean over questions of the share of right samples. Interval: Wilson's, at the number of independent answers
/// that the questions are worth (at one sample a question that is their number, and the interval is Wilson's own).
/// Inside [0, 1], and never of zero width. The standard error is NaN for a single question. Requires a non-empty span.
///
/// Covers in 93% to 97% of the cases, give or take half a point, where 5 or more right and 5 or more wrong questions are
/// expected. Between 1 and 5 it is 92% to 98%. Below that no interval made from a count can stay near 95%: with one
/// sample a question it swings between 85% and 99%, worst at an expectation of a sixth of a wrong question.
[[nodiscard]] Estimate accuracy(std::span<const QuestionResult> questions);

/// One-sided score test, clustered like accuracy: the probability of a share as large as this one or larger if the true
/// share is `share`, in (0, 1). Small: it is above.
[[nodiscard]] double p_not_above(std::span<const QuestionResult> questions, double share);

/// Mean over the same questions of (share under the policy - share under the baseline). Both spans have equal length
/// and order, and are not empty. Interval: Tango's score interval for paired proportions, at the effective number of
/// questions. Inside [-1, 1], antisymmetric under exchange of the two, and never of zero width: where the two never
/// differ it is Wilson's for 0 disagreements, +-3.84 / (questions + 3.84).
///
/// Covers in 93% to 97% of the cases where about 10 or more questions are expected to differ. Below that the chances
/// jump with each question and it covers in 93% to 100%; that it promises too much to a policy that is worse stays
/// below 3% throughout.
[[nodiscard]] Estimate accuracy_difference(std::span<const QuestionResult> policy,
                                           std::span<const QuestionResult> baseline);

/// sum(baseline seconds) / sum(policy seconds) over the same questions; above 1 the policy is faster. Both spans have
/// equal length and order, and are not empty. Interval: Fieller's, with Student's t. `low` is >= 0. `high` is infinite
/// where the policy's mean time is itself not known to differ from 0, in particular for a single question. If the
/// policy took no time at all: value and standard error NaN, low 0, high infinite.
[[nodiscard]] Estimate speed_up(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline);

/// Exact McNemar test, two-sided: of the questions on which the two differ, is it as likely for either to be better?
/// With several samples a question the better one is the one with the larger share (the sign test on questions).
struct McNemar {
  std::uint64_t only_baseline = 0;  ///< questions that only the baseline got right, or more often
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
  /// For undecided: about how many more questions would decide if the difference stayed where it is. None where more
  /// than a million would be needed (the difference is as good as the margin itself). It is an even bet: if the true
  /// difference is the one seen so far, about half of the evaluations with so many more questions decide. Whoever wants
  /// four in five plans twice as many questions in all.
  std::optional<std::uint64_t> more_questions{};
};

/// `difference` comes from accuracy_difference over `questions` questions; margin > 0. Of policies that lose exactly
/// the margin about 2.5% are called kept. That holds for one look: adding questions until it decides, with a look after
/// each, makes it more.
[[nodiscard]] Verdict95 non_inferiority(const Estimate& difference, std::size_t questions, double margin);

/// Median with the distribution-free interval from order statistics, which covers in at least 95% of the cases (for
/// fewer than 6 values the range, which covers less often). No standard error. Requires a non-empty span without NaN.
[[nodiscard]] Estimate median(std::span<const double> values);

}  // namespace relaygen
