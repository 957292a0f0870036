#include "relaygen/sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "core/softmax.h"

namespace relaygen {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// What the filters keep, most likely first, with p relative to the first; in the most obvious way: every step on the
// whole vocabulary.
std::vector<std::pair<TokenId, double>> naive_filter(std::vector<float> logits, const SamplingOptions& o,
                                                     const std::vector<TokenId>& history) {
  const auto last =
      o.penalty_last_n < 0 ? history.size() : std::min(history.size(), static_cast<std::size_t>(o.penalty_last_n));
  std::map<TokenId, int> counts;
  for (std::size_t i = history.size() - last; i < history.size(); ++i) ++counts[history[i]];
  for (const auto& [token, count] : counts) {
    float& logit = logits[static_cast<std::size_t>(token)];
    logit = logit > 0 ? logit / o.repeat_penalty : logit * o.repeat_penalty;
    logit -= static_cast<float>(count) * o.frequency_penalty + o.presence_penalty;
  }
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (o.temperature <= 0) return {{order[0], 1}};
  if (o.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(o.top_k)));
  std::vector<std::pair<TokenId, double>> kept;
  double total = 0;
  for (const TokenId token : order) {
    const float above = logits[static_cast<std::size_t>(token)] - logits[static_cast<std::size_t>(order[0])];
    kept.emplace_back(token, std::exp(static_cast<double>(above / o.temperature)));
    total += kept.back().second;
  }
  std::size_t count = 1;
  for (double mass = 1; count < kept.size() && mass < static_cast<double>(o.top_p) * total; ++count)
    mass += kept[count].second;
  while (count > 1 && kept[count - 1].second < static_cast<double>(o.min_p)) --count;
  kept.resize(count);
  return kept;
}

TokenId naive_choice(const std::vector<float>& logits, const SamplingOptions& o, const std::vector<TokenId>& history,
                     const Noise& noise, std::uint64_t position) {
  TokenId best = -1;
  double best_score = -1e300;
  for (const auto& [token, p] : naive_filter(logits, o, history)) {
    const double score =
        std::log(p) + (o.temperature > 0 ? noise.gumbel(position, static_cast<std::uint64_t>(token)) : 0);
    if (score > best_score) best = token, best_score = score;
  }
  return best;
}

RC_GTEST_PROP(Sampling, AgreesWithTheObviousRule, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 60) * *rc::gen::element<std::size_t>(1, 1, 40);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = static_cast<float>(*rc::gen::inRange(-800, 800)) / 100;
  SamplingOptions options;
  options.temperature = *rc::gen::element(0.0F, 0.3F, 0.6F, 1.0F, 2.0F);
  options.top_k = *rc::gen::element(-1, 0, 1, 5, 20, 1000);
  options.top_p = *rc::gen::element(1.0F, 0.95F, 0.5F, 0.1F);
  options.min_p = *rc::gen::element(0.0F, 0.05F, 0.3F);
  options.repeat_penalty = *rc::gen::element(1.0F, 1.3F);
  options.presence_penalty = *rc::gen::element(0.0F, 0.5F);
  options.frequency_penalty = *rc::gen::element(0.0F, 0.2F);
  options.penalty_last_n = *rc::gen::element(-1, 0, 4, 64);
  const auto history =
      *rc::gen::container<std::vector<TokenId>>(rc::gen::inRange<TokenId>(0, static_cast<TokenId>(size)));
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Noise noise(seed, NoiseStream::tokens);
  Sampler sampler(options, noise);
  for (std::uint64_t position = 0; position < 5; ++position) {
    RC_ASSERT(sampler.choose(logits, history, position).token ==
              naive_choice(logits, options, history, noise, position));
  }
}

// A million draws under each filter against the distribution that it leaves.
TEST(Sampling, GumbelMaxDrawsFromTheDistribution) {
  const std::vector<float> logits{0.0F, 1.0F, 2.0F, -1.0F, 1.5F, 0.2F, -3.0F, 0.9F};
  const std::vector<TokenId> history{2, 4, 2, 1};
  const SamplingOptions plain{.temperature = 1, .top_k = 0, .top_p = 1};
  std::vector<SamplingOptions> all(7, plain);
  all[1].temperature = 0.6F;
  all[2].temperature = 2;
  all[3].top_k = 4;
  all[4].top_p = 0.8F;
  all[5].min_p = 0.2F;
  all[6].repeat_penalty = 1.3F, all[6].presence_penalty = 0.4F, all[6].frequency_penalty = 0.2F;
  // Quantiles of chi-squared at 0.999, by degrees of freedom. The draws are fixed by the seed.
  constexpr std::array kLimit{0.0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32};
  for (const SamplingOptions& options : all) {
    Sampler sampler(options, Noise(7, NoiseStream::tokens));
    std::array<int, 8> counts{};
    constexpr int kDraws = 1'000'000;
    for (int i = 0; i < kDraws; ++i)
      ++counts[static_cast<std::size_t>(sampler.choose(logits, history, static_cast<std::uint64_t>(i)).token)];
    const auto kept = naive_filter(logits, options, history);
    double total = 0, chi_squared = 0;
    int drawn = 0;
    for (const auto& [token, p] : kept) total += p;
    for (const auto& [token, p] : kept) {
      const double expected = kDraws * p / total;
      const int count = counts[static_cast<std::size_t>(token)];
      chi_squared += (count - expected) * (count - expected) / expected;
      drawn += count;
    }
    EXPECT_EQ(drawn, kDraws);
    EXPECT_LT(chi_squared, kLimit[kept.size() - 1]) << &options - all.data();
  }
}

TEST(Sampling, NoiseIsUniformAndItsStreamsDiffer) {
  const Noise noise(1, NoiseStream::tokens);
  const Noise other_stream(1, NoiseStream::random_policy);
  const Noise other_choice(1, NoiseStream::tokens, 1);
  std::array<int, 20> buckets{};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const double u = noise.uniform(i / 100, i % 100);
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++buckets[static_cast<std::size_t>(u * 20)];
    ASSERT_NE(u, other_stream.uniform(i / 100, i % 100));
    ASSERT_NE(u, other_choice.uniform(i / 100, i % 100));
  }
  for (const int count : buckets) EXPECT_NEAR(count, 1000, 130);
}

TEST(Sampling, TheNoiseOfASeedNeverChanges) {
  // A seed is a promise: the same text on every machine and in every later version.
  const Noise noise(42, NoiseStream::tokens);
  EXPECT_DOUBLE_EQ(noise.uniform(3, 17), 0.69972899371126607);
}

TEST(Sampling, TwoModelsShareTheNoiseOfAPosition) {
  // Near distributions mostly give the same token: that is what makes drafting cheap.
  Sampler a({.temperature = 0.6F}, Noise(5, NoiseStream::tokens));
  Sampler b({.temperature = 0.6F}, Noise(5, NoiseStream::tokens));
  std::vector<float> p(50), q(50);
  int same = 0;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Noise shape(position, NoiseStream::evaluation);
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] = static_cast<float>(shape.gumbel(0, i));
      q[i] = p[i] + 0.05F * static_cast<float>(shape.gumbel(1, i));
    }
    same += a.choose(p, {}, position).token == b.choose(q, {}, position).token ? 1 : 0;
  }
  EXPECT_GT(same, 1800);
}

TEST(Sampling, GreedyTakesTheLowestIdOfATie) {
  Sampler sampler({.temperature = 0}, {});
  EXPECT_EQ(sampler.choose(std::vector<float>{1, 3, 3, 2}, {}, 0).token, 1);
}

TEST(Sampling, NotANumberIsNeverChosenWhereThereIsAnother) {
  for (const float temperature : {0.0F, 0.6F}) {
    Sampler sampler({.temperature = temperature, .top_k = 2}, Noise(1, NoiseStream::tokens));
    EXPECT_EQ(sampler.choose(std::vector<float>{kNaN, -5, kNaN, -kInfinity}, {}, 0).token, 1);
    EXPECT_GE(sampler.choose(std::vector<float>{kNaN, kNaN}, {}, 0).token, 0);
    EXPECT_GE(sampler.choose(std::vector<float>{-kInfinity, -kInfinity}, {}, 0).token, 0);
    EXPECT_EQ(sampler.choose(std::vector<float>{0, kInfinity}, {}, 0).token, 1);
  }
}

TEST(Margin, IsTheDifferenceOfTheTwoLargestProbabilities) {
  std::vector<float> logits(1000, -1.0F);
  logits[17] = 4.0F;
  logits[500] = 3.0F;
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  Sampler sampler({.temperature = 0}, {});
  const Choice choice = sampler.choose(logits, {}, 0);
  EXPECT_NEAR(choice.margin, (std::exp(4.0) - std::exp(3.0)) / total, 1e-6);
  EXPECT_NEAR(choice.logprob, 4.0 - std::log(total), 1e-5);
  EXPECT_NEAR(log_probability(logits, 500), 3.0 - std::log(total), 1e-5);
}

TEST(Margin, IsOneWhereOnlyOneTokenIsPossibleAndZeroOnATie) {
  EXPECT_FLOAT_EQ(summarize(std::vector<float>{0, -kInfinity, -kInfinity}).margin, 1.0F);
  EXPECT_FLOAT_EQ(summarize(std::vector<float>{2, 2}).margin, 0.0F);
  EXPECT_FLOAT_EQ(summarize(std::vector<float>{kNaN, 1}).margin, 1.0F);
}

RC_GTEST_PROP(Softmax, AgreesWithDoublePrecision, (const std::vector<std::int16_t>& raw)) {
  RC_PRE(!raw.empty());
  std::vector<float> logits;
  for (const auto x : raw) logits.push_back(static_cast<float>(x) / 300);
  auto sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - static_cast<double>(sorted[0]));
  const double second =
      sorted.size() > 1 ? std::exp(static_cast<double>(sorted[1]) - static_cast<double>(sorted[0])) : 0.0;
  const RowSummary summary = summarize(logits);
  RC_ASSERT(std::abs(static_cast<double>(summary.log_sum) - (static_cast<double>(sorted[0]) + std::log(sum))) < 1e-4);
  RC_ASSERT(std::abs(static_cast<double>(summary.margin) - (1 - second) / sum) < 1e-5);
}

TEST(Softmax, TheExponentialIsAccurate) {
  for (float x = 0; x > -87.0F; x -= 0.0031F) {
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(static_cast<double>(exp_nonpositive(x)) / exact, 1.0, 3e-7) << x;
  }
  EXPECT_EQ(exp_nonpositive(-100.0F), 0.0F);
}

}  // namespace
}  // namespace relaygen
