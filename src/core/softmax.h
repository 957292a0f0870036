// One pass facts about a row of logits. Internal.
#pragma once

#include <cstddef>
#include <span>

namespace relaygen {

struct RowSummary {
  float log_sum;  ///< log of the sum of exp(logit) over the row
  float margin;   ///< softmax(top-1) - softmax(top-2), in [0, 1]
  float top;      ///< the largest logit; -infinity where there is none
};

/// NaN counts as -infinity. Requires a non-empty row. Relative error of the probabilities below 1e-5.
[[nodiscard]] RowSummary summarize(std::span<const float> logits);

/// Entropy of the distribution, natural logarithm, >= 0. `log_sum` as summarize gives it. NaN counts as -infinity.
[[nodiscard]] float entropy(std::span<const float> logits, float log_sum);

/// The largest number of a row, NaN left aside; -infinity for an empty one.
[[nodiscard]] float largest(std::span<const float> values);

/// Loops over rows work on so many numbers at once.
inline constexpr std::size_t kLanes = 16;

/// exp(x) for x <= 0, relative error below 3e-7; 0 below -87. Written so that compilers vectorise loops over it.
[[nodiscard]] float exp_nonpositive(float x);

}  // namespace relaygen
