// How many tokens to guess ahead, and guessing them by lookup.
#include <gtest/gtest.h>

#include <cmath>

#include "core/draft_length.h"
#include "relay/ngram_lookup.h"
#include "relaygen/sampling.h"

namespace relaygen {
namespace {

TEST(DraftLength, IsTheBestOfAll) {
  const Noise draw(7, NoiseStream::evaluation);
  for (std::uint64_t round = 0; round < 500; ++round) {
    std::vector<double> known;
    auto uniform = [&, i = std::uint64_t{0}]() mutable { return draw.uniform(round, i++); };
    for (std::size_t i = 0; i < static_cast<std::size_t>(uniform() * 6); ++i) known.push_back(uniform());
    const double unknown = uniform(), reach = 0.5 + uniform() / 2;
    std::vector<double> seconds;
    for (double all = 1; seconds.size() < 13; all += uniform() * (uniform() < 0.3 ? -0.5 : 1)) {
      all = std::max(all, 0.5);
      seconds.push_back(all);
    }
    const auto best = best_draft_length(known, unknown, reach, 12, [&](std::size_t k) { return seconds[k]; });
    double rate = -1;
    std::size_t length = 0;
    for (std::size_t k = 0; k <= 12; ++k) {
      double tokens = 1;
      for (std::size_t i = 1; i <= k; ++i) {
        double chance = reach;
        for (std::size_t j = 0; j < i; ++j) chance *= j < known.size() ? known[j] : unknown;
        tokens += chance;
      }
      if (tokens / seconds[k] > rate + 1e-12) {
        rate = tokens / seconds[k];
        length = k;
      }
    }
    EXPECT_EQ(best.tokens, length);
    EXPECT_NEAR(best.rate, rate, 1e-9);
  }
}

// Rows of a CPU go in groups of four: two and three cost more than four.
TEST(DraftLength, JumpsOverSizesThatAreDear) {
  const std::array<double, 9> seconds{1.0, 1.5, 2.0, 1.2, 2.2, 2.2, 2.2, 2.2, 3.4};
  const auto length = [&](double acceptance) {
    return best_draft_length({}, acceptance, 1, 8, [&](std::size_t k) { return seconds[k]; }).tokens;
  };
  EXPECT_EQ(length(0.05), 0U);
  EXPECT_EQ(length(0.5), 3U);
  EXPECT_EQ(length(0.99), 7U);
}

TEST(Acceptance, BeginsHopefulAndFollowsWhatIsSeen) {
  Acceptance acceptance(0.8);
  EXPECT_NEAR(acceptance.rate(), 0.8, 1e-9);
  EXPECT_GT(acceptance.hope(), 0.9);
  EXPECT_LT(acceptance.hope(), 1);
  EXPECT_DOUBLE_EQ(acceptance.hope(0.5), acceptance.hope());
  const double untried = acceptance.rate(0.95);
  EXPECT_DOUBLE_EQ(acceptance.rate(0.5), untried);
  for (int i = 0; i < 30; ++i) acceptance.add(0.5, false);
  EXPECT_LT(acceptance.rate(0.5), 0.2);
  EXPECT_LT(acceptance.hope(0.5), 0.33);  // it gives up soon
  EXPECT_GT(acceptance.hope(0.5), acceptance.rate(0.5));
  for (int i = 0; i < 600; ++i) acceptance.add(0.5, i % 4 == 0);
  EXPECT_NEAR(acceptance.rate(0.5), 0.25, 0.07);
  EXPECT_NEAR(acceptance.rate(), 0.25, 0.07);
  EXPECT_DOUBLE_EQ(acceptance.rate(0.95), untried);  // nothing was seen there
  for (int i = 0; i < 1000; ++i) acceptance.add(0.5, true);
  EXPECT_GT(acceptance.rate(0.5), 0.97);
  EXPECT_LT(acceptance.hope(0.5), 1);
}

TEST(NgramLookup, FindsTheLastPlaceOfThreeTokens) {
  const std::vector<TokenId> text{1, 2, 3, 4, 1, 2, 3, 5, 9, 9, 9, 9};
  NgramLookup lookup;
  const auto behind = [&](std::array<TokenId, 3> last) { return lookup.behind(last, text); };
  EXPECT_EQ(behind({1, 2, 3}), std::nullopt);
  lookup.update(std::span(text).first(2));
  EXPECT_EQ(behind({1, 2, 3}), std::nullopt);
  lookup.update(std::span(text).first(6));
  EXPECT_EQ(behind({1, 2, 3}), 3U);
  lookup.update(text);
  EXPECT_EQ(behind({1, 2, 3}), 7U);
  EXPECT_EQ(behind({2, 3, 4}), 4U);
  EXPECT_EQ(behind({9, 9, 9}), 12U);
  EXPECT_EQ(behind({3, 2, 1}), std::nullopt);
  lookup.update(text);  // nothing new
  EXPECT_EQ(behind({2, 3, 5}), 8U);
}

TEST(Typical, KnowsARowOfLogits) {
  const std::array<float, 4> sure{10, 0, 0, -std::numeric_limits<float>::quiet_NaN()};
  EXPECT_TRUE(is_plausible(sure, 0, {}));
  EXPECT_FALSE(is_plausible(sure, 1, {}));
  EXPECT_FALSE(is_plausible(sure, 3, {}));
  const std::vector<float> unsure(100, 1.0F);  // p = 0.01, entropy log 100: 0.3 / 100 is enough
  EXPECT_TRUE(is_plausible(unsure, 17, {}));
  EXPECT_FALSE(is_plausible(unsure, 17, {.epsilon = 0.09, .delta = 1.1}));
}

}  // namespace
}  // namespace relaygen
