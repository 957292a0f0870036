// A row holds the whole vocabulary (150,000 logits and more), and every token of either model needs its normaliser.
// std::exp does not vectorise, so the exponential is written out: exp(x) = 2^n * 2^f with n = round(x / ln 2) and
// |f| <= 1/2, 2^f by a polynomial (Taylor in f ln 2 to degree 6), 2^n by shifting n into the exponent bits.
#include "core/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace relaygen {
namespace {

// Several versions of the hot loops, of which the processor chooses when the program starts. The loops do the same
// operations in the same order in all of them (and CMakeLists.txt forbids to fuse any), so the results are the same too.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RELAYGEN_FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RELAYGEN_FOR_EACH_CPU
#endif

inline float exp_lane(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;  // ln 2 in two parts, so that n * ln 2 is subtracted exactly
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  const float clamped = x < -87.0F ? -87.0F : x;
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  const float p =
      1.0F +
      r * (1.0F + r * (0.5F + r * (1.6666667e-1F + r * (4.1666668e-2F + r * (8.3333333e-3F + r * 1.3888889e-3F)))));
  const auto exponent = static_cast<std::uint32_t>(std::bit_cast<std::int32_t>(shifted)) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(p) + exponent;
  return x < -87.0F ? 0.0F : std::bit_cast<float>(bits);
}

}  // namespace

float exp_nonpositive(float x) { return exp_lane(x); }

RELAYGEN_FOR_EACH_CPU float largest(std::span<const float> values) {
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  const std::size_t whole = values.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = values[i + lane];
      lanes[lane] = x > lanes[lane] ? x : lanes[lane];  // false for NaN
    }
  }
  float best = -std::numeric_limits<float>::infinity();
  for (const float x : lanes) best = x > best ? x : best;
  for (std::size_t i = whole; i < values.size(); ++i) best = values[i] > best ? values[i] : best;
  return best;
}

RELAYGEN_FOR_EACH_CPU RowSummary summarize(std::span<const float> logits) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  // The two largest of each lane without a branch: the second is the larger of the old second and the loser of (first, x).
  std::array<float, kLanes> firsts;
  std::array<float, kLanes> seconds;
  firsts.fill(kNone);
  seconds.fill(kNone);
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[i + lane];
      const float x = logit == logit ? logit : kNone;
      const float loser = x < firsts[lane] ? x : firsts[lane];
      seconds[lane] = loser > seconds[lane] ? loser : seconds[lane];
      firsts[lane] = x > firsts[lane] ? x : firsts[lane];
    }
  }
  float first = kNone;
  float second = kNone;
  const auto add = [&](float x) {
    if (x > second) {  // false for NaN
      second = std::min(first, x);
      first = std::max(first, x);
    }
  };
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    add(firsts[lane]);
    add(seconds[lane]);
  }
  for (std::size_t i = whole; i < logits.size(); ++i) add(logits[i]);
  if (first == kNone) return {kNone, 0.0F, first};
  if (std::isinf(first)) return {first, second == first ? 0.0F : 1.0F, first};

  double sum = 0;
  for (std::size_t begin = 0; begin < whole;) {
    // Blocks, so that a lane adds at most 64 numbers in single precision before double precision takes over.
    const std::size_t end = std::min(whole, begin + 64 * kLanes);
    std::array<float, kLanes> lanes{};
    for (std::size_t i = begin; i < end; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float x = logits[i + lane] - first;
        const float e = exp_lane(x);
        lanes[lane] += x <= 0.0F ? e : 0.0F;  // NaN adds nothing
      }
    }
    for (const float lane : lanes) sum += static_cast<double>(lane);
    begin = end;
  }
  for (std::size_t i = whole; i < logits.size(); ++i) {
    const float x = logits[i] - first;
    sum += x <= 0.0F ? static_cast<double>(exp_lane(x)) : 0.0;
  }
  const double margin = (1.0 - (second == kNone ? 0.0 : std::exp(static_cast<double>(second - first)))) / sum;
  return {static_cast<float>(static_cast<double>(first) + std::log(sum)), static_cast<float>(margin), first};
}

RELAYGEN_FOR_EACH_CPU float entropy(std::span<const float> logits, float log_sum) {
  const auto term = [&](float logit) {
    const float x = logit - log_sum;
    const float capped = x < 0.0F ? x : 0.0F;
    const float product = exp_lane(capped) * capped;
    return x > -87.0F ? product : 0.0F;  // false for NaN
  };
  double sum = 0;
  const std::size_t whole = logits.size() / kLanes * kLanes;
  for (std::size_t begin = 0; begin < whole;) {
    const std::size_t end = std::min(whole, begin + 64 * kLanes);
    std::array<float, kLanes> lanes{};
    for (std::size_t i = begin; i < end; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(logits[i + lane]);
    }
    for (const float lane : lanes) sum -= static_cast<double>(lane);
    begin = end;
  }
  for (std::size_t i = whole; i < logits.size(); ++i) sum -= static_cast<double>(term(logits[i]));
  return static_cast<float>(std::max(sum, 0.0));
}

}  // namespace relaygen
