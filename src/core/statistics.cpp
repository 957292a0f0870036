// Intervals for evaluations.
//
// All but the median's are score intervals: the set of all true values that the data do not contradict at 5%, where the
// noise is taken at the hypothetical true value and not at the observed one. That is what keeps an interval from having
// zero width when every answer is right or when two policies never differ. For one proportion this is Wilson's interval
// (1927), for the difference of two paired proportions Tango's (1998), for a ratio of two means Fieller's (1954).
//
// Wilson and Tango count answers that are right or wrong. With several samples a question there are shares instead, and
// the questions are worth more than so many single answers, but less than the number of samples. How much is seen in
// the data. Let f be the variance of the shares between questions, divided by the variance that single answers with the
// same mean would have. Then n questions say as much as n / f single answers, and both intervals are taken there. f is
// estimated from n values, so the critical value should be Student's t; as both intervals depend on n and z through
// n / z^2 alone, f is multiplied by (t / z)^2 instead (Korn and Graubard 1998 do the same for surveys). f lies between
// 1 / samples (samples of one question are as independent as those of different ones) and 1 (they are all the same). At
// one sample a question the two variances are equal and f comes out as 1: no special case is needed.
//
// Where nearly all shares are 1, or nearly all differences 0, there is nothing to estimate f from, and the few shares
// that exist may suggest far too small an f by luck. So f is estimated as if there were also half a sample of each
// outcome that can be. With no outcome but one that makes f = 1, and it fades away quickly.
#include "core/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace relaygen {
namespace {

constexpr double kZ = 1.959963984540054;  // the 97.5% quantile of the normal distribution
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double low = 0, high = 0;
};

// The 97.5% quantile of Student's t. Beyond the table it is a series in 1 / freedom (Abramowitz and Stegun 26.7.5),
// wrong by less than 0.00003.
double student(std::size_t freedom) {
  constexpr std::array<double, 7> kTable = {12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  const double z = kZ, z2 = z * z, v = 1 / static_cast<double>(freedom);
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + v * (g1 + v * (g2 + v * (g3 + v * g4)));
}

double share(const QuestionResult& question) {
  return static_cast<double>(question.right) / static_cast<double>(question.samples);
}

// Of the mean of independent values. Miller (2024) divides by n where this divides by n - 1.
double standard_error(std::span<const double> values, double mean) {
  if (values.size() < 2) return kNaN;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / (n * (n - 1)));
}

// f from the essay above: n questions are worth n / f single answers.
double worth(std::size_t n, double variance, double of_single_answers, double least) {
  if (n < 2) return 1;
  const auto count = static_cast<double>(n);
  const double student_over_z = student(n - 1) / kZ;
  const double f = std::max(variance / of_single_answers * count / (count - 1), least);
  return std::min(1.0, f * student_over_z * student_over_z);
}

// The shares of right samples, their mean, and how many independent answers they are worth.
struct Shares {
  explicit Shares(std::span<const QuestionResult> questions) {
    const auto n = static_cast<double>(questions.size());
    values.reserve(questions.size());
    double sum = 0, squares = 0, inverse_samples = 0;
    for (const QuestionResult& question : questions) {
      const double s = share(question);
      values.push_back(s);
      sum += s;
      squares += s * s;
      inverse_samples += 1 / static_cast<double>(question.samples) / n;
    }
    const double extra = inverse_samples / 2;  // of a right and of a wrong question: half a sample each
    const double m = (sum + extra) / (n + 2 * extra);
    const double variance = (squares + extra) / (n + 2 * extra) - m * m;
    mean = sum / n;
    independent = n / worth(questions.size(), variance, m * (1 - m), inverse_samples);
  }
  std::vector<double> values;
  double mean = 0, independent = 0;
};

Range wilson(double share, double n) {
  const double z2 = kZ * kZ / n;
  const double centre = (share + z2 / 2) / (1 + z2);
  const double half = std::sqrt(z2 * (share * (1 - share) + z2 / 4)) / (1 + z2);
  // At the edges the limit is exact, but its rounding is not.
  return {share <= 0 ? 0 : std::max(0.0, centre - half), share >= 1 ? 1 : std::min(1.0, centre + half)};
}

// Whether `plus` wins and `minus` losses of n pairs go with a true difference. Their variance depends on the
// probability of a loss too, for which the most likely value at that difference is taken: the larger root of a
// quadratic.
bool goes_with(double plus, double minus, double n, double difference) {
  const double b = (2 * n - plus + minus) * difference - plus - minus;
  const double c = -minus * difference * (1 - difference);
  const double root = std::sqrt(std::max(0.0, b * b - 8 * n * c));
  const double loss = b > 0 ? -2 * c / (b + root) : (root - b) / (4 * n);
  const double variance = n * (2 * loss + difference * (1 - difference));
  const double off = plus - minus - n * difference;
  return off * off <= kZ * kZ * variance;
}

double tango_low(double plus, double minus, double n) {
  if (goes_with(plus, minus, n, -1)) return -1;
  double out = -1, in = (plus - minus) / n;
  for (int i = 0; i < 60; ++i) {
    const double middle = (out + in) / 2;
    (goes_with(plus, minus, n, middle) ? in : out) = middle;
  }
  return in;
}

Range tango(double plus, double minus, double n) { return {tango_low(plus, minus, n), -tango_low(minus, plus, n)}; }

// P(X <= k) for n throws of a fair coin, k <= n / 2. Its largest term comes from logarithms, the others from that one.
double coin_tail(std::uint64_t n, std::uint64_t k) {
  double log_last = -static_cast<double>(n) * std::log(2.0);
  for (std::uint64_t i = 1; i <= k; ++i) log_last += std::log(static_cast<double>(n - k + i) / static_cast<double>(i));
  double sum = 1, term = 1;
  for (std::uint64_t i = k; i > 0 && term > 1e-18 * sum; --i) {
    term *= static_cast<double>(i) / static_cast<double>(n - i + 1);
    sum += term;
  }
  return std::exp(log_last) * sum;
}

// Fieller: a ratio goes with the data if the mean of baseline - ratio * policy is not significantly different from 0.
// Written in the distance x from the observed ratio that is
//   x^2 (mean^2 - c pp) + 2 x c rp - c rr <= 0,
// where `mean` is the policy's, r is what the observed ratio leaves over, and c = t^2 / n. Where the first coefficient
// is not positive, the policy's mean itself might be 0, and there is no upper bound.
Range fieller(double ratio, double mean, double pp, double rp, double rr, double c) {
  const double a = mean * mean - c * pp;
  const double under_root = c * (c * rp * rp + a * rr);
  if (a > 0) {
    const double root = std::sqrt(under_root);
    return {std::max(0.0, ratio - (c * rp + root) / a), ratio + (root - c * rp) / a};
  }
  // The set is everything, or all but a gap. A gap below the observed ratio gives a lower bound.
  if (under_root < 0 || rp >= 0 || a == 0) return {0, kInfinity};
  const double gap_end = (-c * rp - std::sqrt(under_root)) / a;
  return {std::max(0.0, ratio + gap_end), kInfinity};
}

}  // namespace

Estimate accuracy(std::span<const QuestionResult> questions) {
  const Shares shares(questions);
  const Range range = wilson(shares.mean, shares.independent);
  return {shares.mean, range.low, range.high, standard_error(shares.values, shares.mean)};
}

double p_not_above(std::span<const QuestionResult> questions, double share) {
  const Shares shares(questions);
  const double z = (shares.mean - share) / std::sqrt(share * (1 - share) / shares.independent);
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

Estimate accuracy_difference(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline) {
  const auto n = static_cast<double>(policy.size());
  std::vector<double> differences;
  differences.reserve(policy.size());
  double plus = 0, minus = 0, squares = 0, inverse_samples = 0;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    const double d = share(policy[i]) - share(baseline[i]);
    differences.push_back(d);
    (d > 0 ? plus : minus) += std::abs(d);
    squares += d * d;
    inverse_samples +=
        (1 / static_cast<double>(policy[i].samples) + 1 / static_cast<double>(baseline[i].samples)) / (2 * n);
  }
  const double extra = inverse_samples;  // half a sample that only the one got right, and one that only the other did
  const double m = (plus - minus) / (n + extra);
  const double variance = (squares + extra) / (n + extra) - m * m;
  const double of_single_answers = (plus + minus + extra) / (n + extra) - m * m;
  const double f = worth(policy.size(), variance, of_single_answers, inverse_samples);
  const double value = (plus - minus) / n;
  const Range range = tango(plus / f, minus / f, n / f);
  return {value, range.low, range.high, standard_error(differences, value)};
}

Estimate speed_up(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline) {
  const auto n = static_cast<double>(policy.size());
  double of_policy = 0, of_baseline = 0;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    of_policy += policy[i].seconds / n;
    of_baseline += baseline[i].seconds / n;
  }
  if (!(of_policy > 0)) return {kNaN, 0, kInfinity, kNaN};
  const double ratio = of_baseline / of_policy;
  if (policy.size() < 2) return {ratio, 0, kInfinity, kNaN};
  double pp = 0, rp = 0, rr = 0;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    const double p = policy[i].seconds - of_policy;
    const double r = baseline[i].seconds - ratio * policy[i].seconds;
    pp += p * p / (n - 1);
    rp += r * p / (n - 1);
    rr += r * r / (n - 1);
  }
  const double t = student(policy.size() - 1);
  const Range range = fieller(ratio, of_policy, pp, rp, rr, t * t / n);
  return {ratio, range.low, range.high, std::sqrt(rr / n) / of_policy};
}

McNemar mcnemar(std::span<const QuestionResult> policy, std::span<const QuestionResult> baseline) {
  McNemar test;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    const std::uint64_t ours = std::uint64_t{policy[i].right} * baseline[i].samples;
    const std::uint64_t theirs = std::uint64_t{baseline[i].right} * policy[i].samples;
    if (ours > theirs) ++test.only_policy;
    if (ours < theirs) ++test.only_baseline;
  }
  const std::uint64_t n = test.only_policy + test.only_baseline;
  test.p = std::min(1.0, 2 * coin_tail(n, std::min(test.only_policy, test.only_baseline)));
  return test;
}

std::string_view name(NonInferiority verdict) {
  switch (verdict) {
    case NonInferiority::kept: return "kept";
    case NonInferiority::lost: return "lost";
    case NonInferiority::undecided: return "undecided";
  }
  return "?";
}

Verdict95 non_inferiority(const Estimate& difference, std::size_t questions, double margin) {
  if (difference.low > -margin) return {NonInferiority::kept, {}};
  if (difference.high < -margin) return {NonInferiority::lost, {}};

  // The end of the interval on the margin's side is `reach` away and has to come as near as `distance`. With
  // x = sqrt(questions / questions then), 1.96 standard errors shrink like x, and what the interval adds to them because
  // it is a score interval shrinks like x^2.
  constexpr double kMost = 1e6;
  const double distance = std::abs(difference.value + margin);
  const double reach =
      difference.value > -margin ? difference.value - difference.low : difference.high - difference.value;
  const double first = std::isnan(difference.standard_error) ? 0 : kZ * difference.standard_error;
  const double second = reach - first;
  const double x = 2 * distance / (first + std::sqrt(first * first + 4 * second * distance));
  const auto n = static_cast<double>(questions);
  const double more = std::max(1.0, std::ceil(n / (x * x) - n));
  if (!(more <= kMost)) return {NonInferiority::undecided, {}};
  return {NonInferiority::undecided, static_cast<std::uint64_t>(more)};
}

Estimate median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  // The k-th smallest and k-th largest, with the largest k such that fewer than k values on one side of the median are
  // less likely than 2.5%.
  std::size_t k = 0;
  for (std::size_t above = n / 2 + 1; above - k > 1;) {
    const std::size_t middle = k + (above - k) / 2;
    (coin_tail(n, middle - 1) <= 0.025 ? k : above) = middle;
  }
  k = std::max<std::size_t>(k, 1);
  const double value = n % 2 == 1 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
  return {value, sorted[k - 1], sorted[n - k], kNaN};
}

}  // namespace relaygen
