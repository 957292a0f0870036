// Whether 95% intervals hold the truth in 95% of the cases, over simulated evaluations whose truth is known.
//
// Each cell is 2,000 evaluations. The share that an interval of exactly 95% would cover then has a standard deviation of
// half a point, and cells have to lie between 93% and 97%. Counts of a few questions jump in steps that are larger than
// that. Where fewer than about 10 questions are expected to decide anything, cells only have to reach 92% or 93%. The
// draws depend on nothing but the seeds, so a run that passes always passes. --gtest_output=xml writes the shares down.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/statistics.h"

namespace relaygen {
namespace {

using Questions = std::vector<QuestionResult>;

// std::mt19937_64 is the same everywhere, the distributions of the standard library are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(uniform() * static_cast<double>(n)); }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937_64 bits_;
};

// How likely a question is to be answered right: Beta distributions with simple inverses.
struct Difficulty {
  const char* name;
  double mean;
  double (*draw)(Random&);
};
const Difficulty kEasy{"Beta(4,1)", 0.8, [](Random& random) { return std::sqrt(std::sqrt(random.uniform())); }};
const Difficulty kSplit{"Beta(0.5,0.5)", 0.5, [](Random& random) {
                          const double s = std::sin(std::numbers::pi / 2 * random.uniform());
                          return s * s;
                        }};
const Difficulty kVeryEasy{"Beta(19,1)", 0.95, [](Random& random) { return std::pow(random.uniform(), 1.0 / 19); }};

constexpr int kEvaluations = 2000;
constexpr std::size_t kSizes[] = {30, 100, 500, 4000};

struct Tally {
  int covered = 0, too_high = 0, too_low = 0;

  void add(const Estimate& estimate, double truth) {
    const bool above = truth<estimate.low, below = truth> estimate.high;
    too_high += above;
    too_low += below;
    covered += !above && !below;
  }
  [[nodiscard]] double coverage() const { return 100.0 * covered / (covered + too_high + too_low); }
};

void expect_coverage(const Tally& tally, double least, double most, std::string cell) {
  EXPECT_GE(tally.coverage(), least) << cell;
  EXPECT_LE(tally.coverage(), most) << cell;
  std::replace_if(
      cell.begin(), cell.end(), [](char c) { return c == ' '; }, '_');
  char text[64];
  std::snprintf(text, sizeof text, "%.1f too_high %.1f too_low %.1f", tally.coverage(), tally.too_high * 0.05,
                tally.too_low * 0.05);
  testing::Test::RecordProperty(cell, text);
}

std::string cell_name(const std::string& what, std::size_t samples, std::size_t questions) {
  return what + " k" + std::to_string(samples) + " n" + std::to_string(questions);
}

void accuracy_covers(const Difficulty& difficulty) {
  for (const std::uint32_t samples : {1U, 4U}) {
    for (const std::size_t n : kSizes) {
      Random random(n + samples);
      Tally tally;
      Questions questions(n);
      for (int i = 0; i < kEvaluations; ++i) {
        for (QuestionResult& question : questions) {
          const double p = difficulty.draw(random);
          question = {0, samples, 0};
          for (std::uint32_t s = 0; s < samples; ++s) question.right += random.uniform() < p;
        }
        tally.add(accuracy(questions), difficulty.mean);
      }
      const bool few = (1 - difficulty.mean) * static_cast<double>(n) < 4;
      expect_coverage(tally, few ? 92 : 93, few ? 100 : 97, cell_name(difficulty.name, samples, n));
    }
  }
}

TEST(AccuracyCoverage, EasyQuestions) { accuracy_covers(kEasy); }
TEST(AccuracyCoverage, QuestionsThatAreEasyOrHard) { accuracy_covers(kSplit); }
TEST(AccuracyCoverage, HardlyAnyWrong) { accuracy_covers(kVeryEasy); }

// The policy's chance is the baseline's, less a fraction `loss`. With the probability `coupled`, a sample of both has the
// same luck and they differ only where the loss makes them.
struct Comparison {
  const char* name;
  Difficulty difficulty;
  double loss, coupled;

  [[nodiscard]] double truth() const { return -loss * difficulty.mean; }
  void draw(Random& random, std::uint32_t samples, QuestionResult& policy, QuestionResult& baseline) const {
    const double p = difficulty.draw(random);
    policy = baseline = {0, samples, 0};
    for (std::uint32_t s = 0; s < samples; ++s) {
      const double luck = random.uniform();
      const double ours = random.uniform() < coupled ? luck : random.uniform();
      baseline.right += luck < p;
      policy.right += ours < p * (1 - loss);
    }
  }
};

void difference_covers(const Comparison& comparison) {
  for (const std::uint32_t samples : {1U, 4U}) {
    for (const std::size_t n : kSizes) {
      Random random(n + samples);
      Tally tally;
      Questions policy(n), baseline(n);
      std::size_t differing = 0;
      for (int i = 0; i < kEvaluations; ++i) {
        for (std::size_t q = 0; q < n; ++q) {
          comparison.draw(random, samples, policy[q], baseline[q]);
          differing += policy[q].right != baseline[q].right;
        }
        tally.add(accuracy_difference(policy, baseline), comparison.truth());
      }
      const bool few = differing < 10U * kEvaluations;
      expect_coverage(tally, 93, few ? 100 : 97, cell_name(comparison.name, samples, n));
    }
  }
}

TEST(DifferenceCoverage, IndependentSamples) { difference_covers({"independent", kEasy, 0.02, 0}); }
TEST(DifferenceCoverage, MostlyTheSameAnswers) { difference_covers({"coupled", kSplit, 0.05, 0.8}); }
TEST(DifferenceCoverage, HardlyAnyDisagreement) { difference_covers({"rare", kVeryEasy, 0.01, 0.9}); }

// Lognormal times: of the question, and of either run.
void speed_up_covers(double by_question, double by_run) {
  constexpr double kTruth = 1.8;
  for (const std::size_t n : kSizes) {
    Random random(n);
    Tally tally;
    Questions policy(n), baseline(n);
    for (int i = 0; i < kEvaluations; ++i) {
      for (std::size_t q = 0; q < n; ++q) {
        const double question = by_question * random.normal();
        policy[q] = {1, 1, std::exp(question + by_run * random.normal())};
        baseline[q] = {1, 1, kTruth * std::exp(question + by_run * random.normal())};
      }
      tally.add(speed_up(policy, baseline), kTruth);
    }
    char name[64];
    std::snprintf(name, sizeof name, "lognormal %g %g n%zu", by_question, by_run, n);
    expect_coverage(tally, 93, 97, name);
  }
}

TEST(SpeedUpCoverage, EvenTimes) { speed_up_covers(0.5, 0.2); }
TEST(SpeedUpCoverage, UnevenTimes) { speed_up_covers(0.8, 0.4); }
TEST(SpeedUpCoverage, FewQuestionsTakeMostOfTheTime) { speed_up_covers(1.2, 0.3); }

// k of n, each with the probability p.
double binomial(std::size_t n, std::size_t k, double p) {
  const auto all = static_cast<double>(n), some = static_cast<double>(k);
  const double choose = std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1);
  return std::exp(choose + some * std::log(p) + (all - some) * std::log1p(-p));
}

// Without chance: every count of wrong answers, each with its probability.
TEST(ExactCoverage, OfAccuracyAtOneSampleAQuestion) {
  for (const std::size_t n : {30U, 100U, 500U}) {
    std::vector<Estimate> of;
    for (std::size_t wrong = 0; wrong <= n; ++wrong) {
      Questions questions(n, {1, 1, 0});
      std::fill_n(questions.begin(), wrong, QuestionResult{0, 1, 0});
      of.push_back(accuracy(questions));
    }
    for (double expected = 0.1; expected <= static_cast<double>(n) / 2; expected += 0.1) {
      const double p = expected / static_cast<double>(n);
      double covered = 0;
      for (std::size_t wrong = 0; wrong <= n; ++wrong) {
        if (of[wrong].low <= 1 - p && 1 - p <= of[wrong].high) covered += binomial(n, wrong, p);
      }
      EXPECT_GE(covered, expected < 0.95 ? 0.85 : expected < 5 ? 0.919 : 0.925) << expected << " of " << n;
      EXPECT_LE(covered, expected < 0.95 ? 0.99 : expected < 5 ? 0.981 : 0.976) << expected << " of " << n;
    }
  }
}

TEST(ExactCoverage, OfTheDifferenceAtOneSampleAQuestion) {
  constexpr std::size_t kQuestions = 400, kMost = 50;
  std::vector<std::vector<Estimate>> of(kMost, std::vector<Estimate>(kMost));
  for (std::size_t plus = 0; plus < kMost; ++plus) {
    for (std::size_t minus = 0; minus < kMost; ++minus) {
      Questions policy(kQuestions, {0, 1, 0}), baseline(kQuestions, {0, 1, 0});
      for (std::size_t i = 0; i < plus; ++i) policy[i].right = 1;
      for (std::size_t i = plus; i < plus + minus; ++i) baseline[i].right = 1;
      of[plus][minus] = accuracy_difference(policy, baseline);
    }
  }
  for (const double differ : {0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0}) {
    for (const double won : {0.001, 0.05, 0.1, 0.2, 0.3, 0.5}) {
      double covered = 0, promised = 0;
      const double truth = differ * (2 * won - 1) / kQuestions;
      for (std::size_t plus = 0; plus < kMost; ++plus) {
        for (std::size_t minus = 0; minus < kMost; ++minus) {
          const double p = binomial(kQuestions, plus + minus, differ / kQuestions) * binomial(plus + minus, plus, won);
          if (truth < of[plus][minus].low) promised += p;
          if (of[plus][minus].low <= truth && truth <= of[plus][minus].high) covered += p;
        }
      }
      EXPECT_GE(covered, 0.93) << differ << " differ, won " << won;
      EXPECT_LE(covered, differ < 10 ? 1.0 + 1e-9 : 0.97) << differ << " differ, won " << won;
      EXPECT_LE(promised, 0.03) << differ << " differ, won " << won;
    }
  }
}

TEST(MedianCoverage, AtLeast95Percent) {
  for (const std::size_t n : {6U, 10U, 30U, 101U}) {
    Random random(n);
    Tally tally;
    std::vector<double> values(n);
    for (int i = 0; i < kEvaluations; ++i) {
      for (double& value : values) value = std::exp(random.normal());
      tally.add(median(values), 1);
    }
    expect_coverage(tally, 94.5, 99, "median n" + std::to_string(n));
  }
}

// A resampling of questions knows nothing of formulas. Where there are many questions it must say the same.
TEST(Intervals, AgreeWithABootstrapOverQuestions) {
  constexpr std::size_t kQuestions = 2000;
  constexpr int kResamples = 4000;
  Random random(1);
  Questions policy(kQuestions), baseline(kQuestions);
  const Comparison comparison{"", kEasy, 0.03, 0.3};
  for (std::size_t q = 0; q < kQuestions; ++q) {
    comparison.draw(random, 4, policy[q], baseline[q]);
    const double question = random.normal() / 2;
    policy[q].seconds = std::exp(question + random.normal() / 4);
    baseline[q].seconds = 2 * std::exp(question + random.normal() / 4);
  }
  std::vector<double> accuracies, differences, ratios;
  for (int r = 0; r < kResamples; ++r) {
    double right = 0, difference = 0, ours = 0, theirs = 0;
    for (std::size_t i = 0; i < kQuestions; ++i) {
      const std::size_t q = random.below(kQuestions);
      right += policy[q].right / 4.0;
      difference += policy[q].right / 4.0 - baseline[q].right / 4.0;
      ours += policy[q].seconds;
      theirs += baseline[q].seconds;
    }
    accuracies.push_back(right / kQuestions);
    differences.push_back(difference / kQuestions);
    ratios.push_back(theirs / ours);
  }
  const auto expect_same = [](const Estimate& e, std::vector<double>& resampled, const char* what) {
    std::sort(resampled.begin(), resampled.end());
    const double tolerance = 0.05 * (e.high - e.low);
    EXPECT_NEAR(e.low, resampled[kResamples / 40], tolerance) << what;
    EXPECT_NEAR(e.high, resampled[kResamples - kResamples / 40], tolerance) << what;
  };
  expect_same(accuracy(policy), accuracies, "accuracy");
  expect_same(accuracy_difference(policy, baseline), differences, "difference");
  expect_same(speed_up(policy, baseline), ratios, "speed-up");
}

// A policy that loses exactly the margin must not often pass for one that loses less.
TEST(NonInferiorityErrors, AreRareAtTheMargin) {
  constexpr int kTimes = 10000;
  const struct {
    Comparison comparison;
    std::uint32_t samples;
    std::size_t questions;
  } cases[] = {{{"independent", kEasy, 0.025, 0}, 1, 300},
               {{"independent", kEasy, 0.025, 0}, 4, 100},
               {{"coupled", kSplit, 0.04, 0.8}, 1, 500},
               {{"coupled", kSplit, 0.04, 0.8}, 4, 300}};
  for (const auto& c : cases) {
    Random random(c.questions + c.samples);
    Questions policy(c.questions), baseline(c.questions);
    int kept = 0, lost = 0;
    for (int i = 0; i < kTimes; ++i) {
      for (std::size_t q = 0; q < c.questions; ++q) c.comparison.draw(random, c.samples, policy[q], baseline[q]);
      const Estimate difference = accuracy_difference(policy, baseline);
      const NonInferiority verdict = non_inferiority(difference, c.questions, -c.comparison.truth()).verdict;
      kept += verdict == NonInferiority::kept;
      lost += verdict == NonInferiority::lost;
    }
    const std::string cell = cell_name(c.comparison.name, c.samples, c.questions);
    RecordProperty("at_margin_" + std::to_string(c.samples) + "_" + std::to_string(c.questions),
                   std::to_string(kept) + " kept, " + std::to_string(lost) + " lost");
    EXPECT_NEAR(kept / 100.0, 2.5, 1) << cell;
    EXPECT_NEAR(lost / 100.0, 2.5, 1) << cell;
  }
}

// The number of further questions is an even bet where the questions so far are typical, and four to one where there are
// twice as many in all.
TEST(MoreQuestions, DecideAsOftenAsPromised) {
  constexpr int kTimes = 2000;
  const struct {
    Comparison comparison;
    std::uint32_t samples;
    std::size_t questions;
    double margin;
  } cases[] = {{{"independent", kEasy, 0, 0}, 1, 200, 0.05},
               {{"independent", kEasy, 0, 0}, 4, 100, 0.03},
               {{"coupled", kSplit, 0.06, 0.8}, 1, 300, 0.01}};
  for (const auto& c : cases) {
    Random random(7);
    Questions policy(c.questions), baseline(c.questions);
    Verdict95 verdict;
    do {  // until there is an evaluation that decides nothing
      for (std::size_t q = 0; q < c.questions; ++q) c.comparison.draw(random, c.samples, policy[q], baseline[q]);
      verdict = non_inferiority(accuracy_difference(policy, baseline), c.questions, c.margin);
    } while (!verdict.more_questions || *verdict.more_questions > 3000 || *verdict.more_questions < c.questions / 2);
    const std::size_t total = c.questions + *verdict.more_questions;
    const auto decided = [&](std::size_t all) {
      int count = 0;
      Questions ours = policy, theirs = baseline;
      ours.resize(all);
      theirs.resize(all);
      for (int i = 0; i < kTimes; ++i) {
        for (std::size_t q = c.questions; q < all; ++q) {
          const std::size_t like = random.below(c.questions);
          ours[q] = policy[like];
          theirs[q] = baseline[like];
        }
        const Estimate difference = accuracy_difference(ours, theirs);
        count += non_inferiority(difference, all, c.margin).verdict != NonInferiority::undecided;
      }
      return 100.0 * count / kTimes;
    };
    const std::string cell = cell_name(c.comparison.name, c.samples, c.questions) + ", " + std::to_string(total);
    const double even = decided(total), twice = decided(2 * total);
    RecordProperty("more_" + std::to_string(c.samples) + "_" + std::to_string(c.questions),
                   std::to_string(total) + " in all: " + std::to_string(even) + ", twice: " + std::to_string(twice));
    EXPECT_NEAR(even, 50, 6) << cell;
    EXPECT_GT(twice, 75) << cell;
    EXPECT_LT(twice, 95) << cell;
  }
}

}  // namespace
}  // namespace relaygen
