#include "core/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace relaygen {
namespace {

using Questions = std::vector<QuestionResult>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Questions single(std::size_t right, std::size_t wrong) {
  Questions questions(right, {1, 1, 1.0});
  questions.resize(right + wrong, {0, 1, 1.0});
  return questions;
}

struct Pair {
  Questions policy, baseline;
};

// One sample a question.
Pair paired(std::size_t both, std::size_t only_policy, std::size_t only_baseline, std::size_t neither) {
  Pair pair;
  const auto add = [&](std::size_t count, std::uint32_t ours, std::uint32_t theirs) {
    pair.policy.resize(pair.policy.size() + count, {ours, 1, 1.0});
    pair.baseline.resize(pair.baseline.size() + count, {theirs, 1, 1.0});
  };
  add(both, 1, 1);
  add(only_policy, 1, 0);
  add(only_baseline, 0, 1);
  add(neither, 0, 0);
  return pair;
}

Questions times(const std::vector<double>& seconds) {
  Questions questions;
  for (const double s : seconds) questions.push_back({1, 1, s});
  return questions;
}

Questions some_questions(std::size_t count, bool several) {
  Questions questions;
  for (std::size_t i = 0; i < count; ++i) {
    const auto samples = several ? *rc::gen::inRange<std::uint32_t>(1, 9) : 1U;
    const auto right = *rc::gen::inRange<std::uint32_t>(0, samples + 1);
    questions.push_back({right, samples, *rc::gen::inRange(1, 100000) / 100.0});
  }
  return questions;
}

TEST(Accuracy, IsWilsonsAtOneSampleAQuestion) {
  // Newcombe 1998, Statistics in Medicine 17, 857, table I.
  const struct {
    std::size_t right, of;
    double low, high;
  } published[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
  for (const auto& c : published) {
    const Estimate e = accuracy(single(c.right, c.of - c.right));
    EXPECT_NEAR(e.low, c.low, 5e-5);
    EXPECT_NEAR(e.high, c.high, 5e-5);
  }
  const Estimate e = accuracy(single(929, 71));
  EXPECT_DOUBLE_EQ(e.value, 0.929);
  EXPECT_NEAR(e.low, 0.9113863, 1e-6);
  EXPECT_NEAR(e.high, 0.9433303, 1e-6);
  EXPECT_NEAR(e.standard_error, std::sqrt(0.929 * 0.071 / 999), 1e-12);
}

TEST(Accuracy, IsTheMeanOverQuestionsNotOverSamples) {
  const Questions questions = {{1, 1, 0}, {0, 9, 0}};
  EXPECT_DOUBLE_EQ(accuracy(questions).value, 0.5);
}

TEST(Accuracy, StandardErrorIsClusteredByQuestion) {
  // Shares 1, 0.5, 0, 0.5: mean 0.5, squared deviations 0.25 + 0.25.
  const Questions questions = {{2, 2, 0}, {1, 2, 0}, {0, 2, 0}, {1, 2, 0}};
  EXPECT_NEAR(accuracy(questions).standard_error, std::sqrt(0.5 / (4 * 3)), 1e-15);
  EXPECT_TRUE(std::isnan(accuracy(single(1, 0)).standard_error));
}

TEST(Accuracy, SamplesThatNeverDifferAreWorthOne) {
  Questions repeated = single(70, 30);
  for (QuestionResult& question : repeated) question = {question.right * 8, 8, 0};
  const Estimate one = accuracy(single(70, 30));
  const Estimate eight = accuracy(repeated);
  EXPECT_NEAR(eight.low, one.low, 1e-3);
  EXPECT_NEAR(eight.high, one.high, 1e-3);
}

TEST(Accuracy, SamplesThatDifferAsMuchAsQuestionsAreWorthThemselves) {
  const Questions alike(200, {3, 4, 0});
  const Estimate e = accuracy(alike);
  const Estimate answers = accuracy(single(600, 200));
  EXPECT_NEAR(e.high - e.low, answers.high - answers.low, 2e-3);
}

// Figures from SciPy and statsmodels, which were given the rule of docs/statistics.md in words of their own.
TEST(Accuracy, AgreesWithAnotherProgramAtSeveralSamples) {
  Questions questions(12, {4, 4, 0});
  questions.resize(16, {3, 4, 0});
  questions.resize(18, {2, 4, 0});
  questions.resize(20, {1, 4, 0});
  const Estimate e = accuracy(questions);
  EXPECT_DOUBLE_EQ(e.value, 0.825);
  EXPECT_NEAR(e.low, 0.6732568, 1e-6);
  EXPECT_NEAR(e.high, 0.9151531, 1e-6);
}

TEST(Accuracy, IsNeverEmptyAtTheEdges) {
  for (const std::uint32_t samples : {1U, 4U}) {
    for (const std::size_t n : {1U, 2U, 30U, 4000U}) {
      const Estimate none = accuracy(Questions(n, {0, samples, 0}));
      const double wilson = 3.841459 / (static_cast<double>(n) + 3.841459);
      EXPECT_EQ(none.value, 0);
      EXPECT_EQ(none.low, 0);
      EXPECT_NEAR(none.high, wilson, 1e-6) << n << " questions, " << samples << " samples";
      const Estimate all = accuracy(Questions(n, {samples, samples, 0}));
      EXPECT_EQ(all.value, 1);
      EXPECT_EQ(all.high, 1);
      EXPECT_NEAR(all.low, 1 - wilson, 1e-6);
    }
  }
}

TEST(Accuracy, AFewWrongSamplesAreNotTakenForMuchEvidence) {
  for (const std::size_t n : {5U, 30U, 500U}) {
    Questions questions(n, {4, 4, 0});
    questions[0].right = 3;
    EXPECT_LT(accuracy(questions).low, accuracy(single(4 * n - 1, 1)).low);
  }
}

RC_GTEST_PROP(Accuracy, IntervalHoldsItsValueAndKeepsWithinBounds, (bool several)) {
  const Questions questions = some_questions(*rc::gen::inRange<std::size_t>(1, 60), several);
  const Estimate e = accuracy(questions);
  RC_ASSERT(0 <= e.low && e.low <= e.value && e.value <= e.high && e.high <= 1);
  RC_ASSERT(e.high - e.low > 1e-3);
  Questions wrong = questions;
  for (QuestionResult& question : wrong) question.right = question.samples - question.right;
  const Estimate mirrored = accuracy(wrong);
  RC_ASSERT(std::abs(mirrored.low - (1 - e.high)) < 1e-9);
  RC_ASSERT(std::abs(mirrored.high - (1 - e.low)) < 1e-9);
}

TEST(AccuracyDifference, IsTangosAtOneSampleAQuestion) {
  // As R's PropCIs 0.3-0 gives them, scoreci.mp(20, 60, 1000) and scoreci.mp(0, 7, 14).
  const Pair large = paired(900, 60, 20, 20);
  Estimate e = accuracy_difference(large.policy, large.baseline);
  EXPECT_DOUBLE_EQ(e.value, 0.04);
  EXPECT_NEAR(e.low, 0.0231, 5e-5);
  EXPECT_NEAR(e.high, 0.0584, 5e-5);
  const Pair small = paired(3, 7, 0, 4);
  e = accuracy_difference(small.policy, small.baseline);
  EXPECT_NEAR(e.low, 0.177034, 1e-6);
  EXPECT_NEAR(e.high, 0.732008, 1e-6);
}

// The same interval from its definition: at each end, the score statistic with the most likely probability of a loss,
// found by search, is 1.96.
TEST(AccuracyDifference, EndsWhereTheScoreStatisticSays) {
  for (const auto& [plus, minus, n] :
       std::vector<std::array<double, 3>>{{12, 2, 50}, {1, 7, 50}, {0, 5, 25}, {3, 3, 400}}) {
    const auto count = [](double x) { return static_cast<std::size_t>(x); };
    const Pair pair = paired(0, count(plus), count(minus), count(n - plus - minus));
    const Estimate e = accuracy_difference(pair.policy, pair.baseline);
    for (const double end : {e.low, e.high}) {
      const auto log_likelihood = [&, p = plus, m = minus, all = n](double loss) {
        const auto term = [](double k, double probability) { return k == 0 ? 0 : k * std::log(probability); };
        return term(p, loss + end) + term(m, loss) + term(all - p - m, 1 - 2 * loss - end);
      };
      double low = std::max(0.0, -end), high = (1 - end) / 2;
      for (int i = 0; i < 200; ++i) {
        const double third = (high - low) / 3;
        if (log_likelihood(low + third) < log_likelihood(high - third)) {
          low += third;
        } else {
          high -= third;
        }
      }
      const double loss = (low + high) / 2;
      const double score = (plus - minus - n * end) / std::sqrt(n * (2 * loss + end - end * end));
      EXPECT_NEAR(std::abs(score), 1.959964, 1e-4) << plus << " " << minus << " " << n;
    }
  }
}

TEST(AccuracyDifference, AgreesWithAnotherProgramAtSeveralSamples) {
  const Questions baseline(20, {2, 4, 0});
  Questions policy(3, {3, 4, 0});
  policy.resize(4, {4, 4, 0});
  policy.resize(8, {1, 4, 0});
  policy.resize(10, {0, 4, 0});
  policy.resize(20, {2, 4, 0});
  const Estimate e = accuracy_difference(policy, baseline);
  EXPECT_DOUBLE_EQ(e.value, -0.0375);
  EXPECT_NEAR(e.low, -0.1804916, 2e-6);
  EXPECT_NEAR(e.high, 0.1012968, 2e-6);
}

TEST(AccuracyDifference, IsNotCertainWhereNothingDiffers) {
  for (const std::uint32_t samples : {1U, 4U}) {
    const Questions questions(200, {samples, samples, 0});
    const Estimate e = accuracy_difference(questions, questions);
    EXPECT_EQ(e.value, 0);
    EXPECT_NEAR(e.high, 3.841459 / 203.841459, 1e-6);
    EXPECT_NEAR(e.low, -e.high, 1e-12);
    EXPECT_EQ(e.standard_error, 0);
  }
}

TEST(AccuracyDifference, IsNotCertainWhereEverythingDiffersAlike) {
  const Estimate won = accuracy_difference(single(30, 0), single(0, 30));
  EXPECT_EQ(won.value, 1);
  EXPECT_EQ(won.high, 1);
  EXPECT_LT(won.low, 0.9);
  EXPECT_GT(won.low, 0.5);
  const Estimate one = accuracy_difference(single(1, 0), single(0, 1));
  EXPECT_LT(one.low, 0.5);
}

TEST(AccuracyDifference, StandardErrorIsThatOfTheDifferences) {
  const Pair pair = paired(5, 3, 1, 1);  // differences: three 1, one -1, six 0; mean 0.2
  const Estimate e = accuracy_difference(pair.policy, pair.baseline);
  EXPECT_NEAR(e.standard_error, std::sqrt((3 * 0.64 + 1.44 + 6 * 0.04) / (10 * 9)), 1e-15);
}

RC_GTEST_PROP(AccuracyDifference, IsAntisymmetricAndHoldsItsValue, (bool several)) {
  const auto n = *rc::gen::inRange<std::size_t>(1, 60);
  const Questions policy = some_questions(n, several);
  const Questions baseline = some_questions(n, several);
  const Estimate e = accuracy_difference(policy, baseline);
  const Estimate back = accuracy_difference(baseline, policy);
  RC_ASSERT(-1 <= e.low && e.low <= e.value && e.value <= e.high && e.high <= 1);
  RC_ASSERT(e.high - e.low > 1e-3);
  RC_ASSERT(std::abs(back.low + e.high) < 1e-12);
  RC_ASSERT(std::abs(back.high + e.low) < 1e-12);
  RC_ASSERT(std::abs(e.value - (accuracy(policy).value - accuracy(baseline).value)) < 1e-12);
}

RC_GTEST_PROP(Statistics, DoNotDependOnTheOrderOfQuestions, (bool several)) {
  const auto n = *rc::gen::inRange<std::size_t>(2, 60);
  Pair pair{some_questions(n, several), some_questions(n, several)};
  const auto all = [&pair] {
    const Estimate a = accuracy(pair.policy);
    const Estimate d = accuracy_difference(pair.policy, pair.baseline);
    const Estimate s = speed_up(pair.policy, pair.baseline);
    const McNemar m = mcnemar(pair.policy, pair.baseline);
    return std::vector<double>{a.value, a.low, a.high, a.standard_error, d.value,          d.low, d.high,
                               s.value, s.low, s.high, s.standard_error, d.standard_error, m.p};
  };
  const std::vector<double> before = all();
  const auto turn = static_cast<std::ptrdiff_t>(*rc::gen::inRange<std::size_t>(1, n));
  for (Questions* questions : {&pair.policy, &pair.baseline}) {
    std::rotate(questions->begin(), questions->begin() + turn, questions->end());
    std::reverse(questions->begin(), questions->end());
  }
  const std::vector<double> after = all();
  for (std::size_t i = 0; i < before.size(); ++i) {
    RC_ASSERT(before[i] == after[i] || std::abs(before[i] - after[i]) <= 1e-7 * (1 + std::abs(before[i])));
  }
}

TEST(SpeedUp, IsTheRatioOfTheSums) {
  const Estimate e = speed_up(times({1, 2, 3}), times({2, 5, 5}));
  EXPECT_DOUBLE_EQ(e.value, 2);
  EXPECT_NEAR(e.standard_error, std::sqrt(1.0 / 3) / 2, 1e-12);  // leftovers 0, 1, -1
}

// Means 11 and 22, variances 1 and 3, covariance 1.5; t = 4.302653 at 2 degrees of freedom. At the ends of the interval
// (22 - 11 r)^2 = t^2 / 3 * variance of (baseline - r * policy), which is 3 - 3 r + r^2.
TEST(SpeedUp, IntervalIsFiellers) {
  const Estimate e = speed_up(times({10, 11, 12}), times({20, 23, 23}));
  const double c = 4.302653 * 4.302653 / 3;
  for (const double r : {e.low, e.high}) {
    const double mean = 22 - 11 * r;
    EXPECT_NEAR(mean * mean, c * (3 - 3 * r + r * r), 1e-4);
  }
  EXPECT_LT(e.low, 2);
  EXPECT_GT(e.high, 2);
}

TEST(SpeedUp, HasNoUpperBoundWhereTheTimesTellNone) {
  const Estimate one = speed_up(times({1}), times({2}));
  EXPECT_EQ(one.value, 2);
  EXPECT_EQ(one.low, 0);
  EXPECT_EQ(one.high, kInfinity);
  const Estimate two = speed_up(times({0.01, 10}), times({3, 4}));
  EXPECT_EQ(two.high, kInfinity);
  EXPECT_LE(two.low, two.value);
  EXPECT_GE(two.low, 0);
  const Estimate nothing = speed_up(times({0, 0}), times({1, 1}));
  EXPECT_TRUE(std::isnan(nothing.value));
  EXPECT_EQ(nothing.high, kInfinity);
}

TEST(SpeedUp, IsExactWhereTheRatioIsConstant) {
  const Estimate e = speed_up(times({10, 11, 14}), times({15, 16.5, 21}));
  EXPECT_DOUBLE_EQ(e.value, 1.5);
  EXPECT_NEAR(e.low, 1.5, 1e-12);
  EXPECT_NEAR(e.high, 1.5, 1e-12);
}

RC_GTEST_PROP(SpeedUp, TurnsOverWithTheTwoAndScalesWithTheUnit, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(2, 60);
  const Questions policy = some_questions(n, false);
  const Questions baseline = some_questions(n, false);
  const Estimate e = speed_up(policy, baseline);
  const Estimate back = speed_up(baseline, policy);
  RC_ASSERT(0 <= e.low && e.low <= e.value && e.value <= e.high);
  // Fieller's set of ratios is the same either way round, as long as neither mean might be 0.
  if (e.high < kInfinity && back.high < kInfinity && e.low > 0) {
    RC_ASSERT(std::abs(e.low * back.high - 1) < 1e-6);
    RC_ASSERT(std::abs(back.low * e.high - 1) < 1e-6);
  }
  Questions slower = baseline;
  for (QuestionResult& question : slower) question.seconds *= 3;
  const Estimate scaled = speed_up(policy, slower);
  RC_ASSERT(std::abs(scaled.low - 3 * e.low) <= 1e-6 * (1 + e.value));
  RC_ASSERT(scaled.high == 3 * e.high || std::abs(scaled.high - 3 * e.high) <= 1e-6 * e.high);
}

TEST(McNemarTest, IsTheExactBinomial) {
  const auto p = [](std::size_t only_policy, std::size_t only_baseline) {
    const Pair pair = paired(3, only_policy, only_baseline, 2);
    const McNemar test = mcnemar(pair.policy, pair.baseline);
    EXPECT_EQ(test.only_policy, only_policy);
    EXPECT_EQ(test.only_baseline, only_baseline);
    return test.p;
  };
  EXPECT_EQ(p(0, 0), 1);
  EXPECT_EQ(p(4, 4), 1);
  EXPECT_NEAR(p(1, 0), 1, 1e-15);
  EXPECT_NEAR(p(0, 6), 2.0 / 64, 1e-15);
  EXPECT_NEAR(p(1, 9), 2 * 11.0 / 1024, 1e-15);
  EXPECT_NEAR(p(9, 1), 2 * 11.0 / 1024, 1e-15);
  EXPECT_NEAR(p(2, 8), 2 * 56.0 / 1024, 1e-15);
  // Agresti, Categorical Data Analysis: 150 and 86 people changed their mind about the prime minister.
  EXPECT_NEAR(p(86, 150), 3.716e-5, 1e-8);
}

TEST(McNemarTest, CountsThatWouldUnderflowAreNoProblem) {
  const Pair pair = paired(0, 4800, 5200, 0);
  EXPECT_NEAR(mcnemar(pair.policy, pair.baseline).p, 6.6e-5, 0.3e-5);
  const Pair clear = paired(0, 0, 3000, 0);
  EXPECT_EQ(mcnemar(clear.policy, clear.baseline).p, 0);
}

TEST(McNemarTest, ComparesSharesWithSeveralSamples) {
  const Questions policy = {{1, 2, 0}, {3, 4, 0}, {0, 1, 0}};
  const Questions baseline = {{2, 4, 0}, {1, 2, 0}, {1, 8, 0}};
  const McNemar test = mcnemar(policy, baseline);
  EXPECT_EQ(test.only_policy, 1U);
  EXPECT_EQ(test.only_baseline, 1U);
}

TEST(NonInferiorityTest, ReadsTheInterval) {
  EXPECT_EQ(non_inferiority({0, -0.01, 0.01, 0.005}, 100, 0.02).verdict, NonInferiority::kept);
  EXPECT_EQ(non_inferiority({-0.05, -0.07, -0.03, 0.01}, 100, 0.02).verdict, NonInferiority::lost);
  EXPECT_EQ(non_inferiority({-0.01, -0.03, 0.01, 0.01}, 100, 0.02).verdict, NonInferiority::undecided);
  EXPECT_EQ(non_inferiority({0, -0.02, 0.02, 0.01}, 100, 0.02).verdict, NonInferiority::undecided);
  EXPECT_EQ(name(NonInferiority::kept), "kept");
  EXPECT_EQ(name(NonInferiority::lost), "lost");
  EXPECT_EQ(name(NonInferiority::undecided), "undecided");
}

TEST(NonInferiorityTest, HalvingAnIntervalTakesFourTimesTheQuestions) {
  const double error = 0.02 / 1.959963984540054;
  const Verdict95 v = non_inferiority({0, -0.02, 0.02, error}, 100, 0.01);
  ASSERT_TRUE(v.more_questions);
  EXPECT_NEAR(static_cast<double>(*v.more_questions), 300, 1);
}

TEST(NonInferiorityTest, OnlyAnUndecidedOneAsksForMore) {
  EXPECT_FALSE(non_inferiority({0, -0.01, 0.01, 0.005}, 100, 0.02).more_questions);
  EXPECT_FALSE(non_inferiority({-0.02, -0.03, -0.01, 0.005}, 100, 0.02).more_questions);     // at the margin
  EXPECT_FALSE(non_inferiority({-0.01999, -0.03, -0.01, 0.005}, 100, 0.02).more_questions);  // as good as at it
  EXPECT_EQ(non_inferiority({0, -0.02, 0.02, 0.0102}, 100, 0.02).more_questions, 1U);        // as good as decided
}

// If the further questions are exactly like those so far, a tenth more than promised decides and a tenth less does not.
TEST(NonInferiorityTest, TheNumberOfFurtherQuestionsIsRight) {
  const struct {
    std::size_t plus, minus, n;
    double margin;
    NonInferiority outcome;
  } cases[] = {{0, 0, 100, 0.01, NonInferiority::kept},        {0, 0, 30, 0.05, NonInferiority::kept},
               {60, 90, 3000, 0.015, NonInferiority::kept},    {10, 50, 2000, 0.015, NonInferiority::lost},
               {300, 500, 10000, 0.018, NonInferiority::lost}, {50, 100, 1000, 0.04, NonInferiority::lost}};
  for (const auto& c : cases) {
    const Pair pair = paired(c.n - c.plus - c.minus, c.plus, c.minus, 0);
    const Verdict95 v = non_inferiority(accuracy_difference(pair.policy, pair.baseline), c.n, c.margin);
    ASSERT_TRUE(v.more_questions);
    const auto verdict_at = [&](double total) {
      const auto scaled = [&](std::size_t count) {
        return static_cast<std::size_t>(std::lround(static_cast<double>(count) * total / static_cast<double>(c.n)));
      };
      const Pair more = paired(scaled(c.n) - scaled(c.plus) - scaled(c.minus), scaled(c.plus), scaled(c.minus), 0);
      return non_inferiority(accuracy_difference(more.policy, more.baseline), scaled(c.n), c.margin).verdict;
    };
    const auto total = static_cast<double>(c.n + *v.more_questions);
    EXPECT_EQ(verdict_at(total * 1.1), c.outcome) << c.plus << " " << c.minus << " " << c.n << ": " << total;
    EXPECT_EQ(verdict_at(total * 0.9), NonInferiority::undecided)
        << c.plus << " " << c.minus << " " << c.n << ": " << total;
  }
}

TEST(Median, IntervalIsMadeOfOrderStatistics) {
  const auto counted = [](std::size_t n) {
    std::vector<double> values;
    for (std::size_t i = n; i > 0; --i) values.push_back(static_cast<double>(i));
    return median(values);
  };
  EXPECT_EQ(counted(1).value, 1);
  EXPECT_EQ(counted(1).low, 1);
  EXPECT_EQ(counted(1).high, 1);
  EXPECT_EQ(counted(4).value, 2.5);
  EXPECT_TRUE(std::isnan(counted(4).standard_error));
  // The ranks in tables of the sign test, e.g. Conover, Practical Nonparametric Statistics.
  const struct {
    std::size_t n;
    double low;
  } ranks[] = {{5, 1}, {6, 1}, {8, 1}, {9, 2}, {10, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}, {100, 40}};
  for (const auto& r : ranks) {
    const Estimate e = counted(r.n);
    EXPECT_EQ(e.low, r.low) << r.n;
    EXPECT_EQ(e.high, static_cast<double>(r.n) + 1 - r.low) << r.n;
  }
  const Estimate many = counted(100001);
  EXPECT_EQ(many.value, 50001);
  EXPECT_NEAR(many.low, 50001 - 0.98 * std::sqrt(100001.0), 2);
}

}  // namespace
}  // namespace relaygen
