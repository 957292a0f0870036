// Measuring what batches cost on this machine.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "relaygen/cost_model.h"
#include "relaygen/engine.h"
#include "relaygen/error.h"
#include "relaygen/relay.h"

namespace relaygen::bench {

/// How often a batch is timed.
struct Effort {
  std::size_t warm_ups = 1;  ///< decodes before the first timed one
  std::size_t repeats = 7;
  double seconds = 6;  ///< stops early after so many seconds, with two timed decodes at least
};

/// Seconds of decodes of `rows` tokens on top of the first `depth` tokens of a model's cache, one a repeat. The cache
/// must hold at least `depth` tokens and is cut back to them; `tokens` are what is decoded, at least `rows` of them.
/// Logits are asked for the last `outputs` rows. Errors: those of decode.
[[nodiscard]] Result<std::vector<double>> time_batch(Engine& engine, Model model, std::span<const TokenId> tokens,
                                                     std::int32_t rows, std::int32_t depth, const Effort& effort,
                                                     const Clock& clock, std::int32_t outputs = 1);

/// Seconds that each further row of logits of the large model takes, on top of the first `depth` of `tokens`, which its
/// cache must hold; 0 where the engine gives only one. Errors: those of decode.
[[nodiscard]] Result<double> time_output_row(Engine& engine, std::span<const TokenId> tokens, std::int32_t depth,
                                             const Clock& clock);
/// The same on an empty cache, which it leaves empty.
[[nodiscard]] Result<double> time_output_row(Engine& engine, const Clock& clock);

/// Seconds of choosing a token from a row of the large model under the usual filters. Leaves its cache with one token.
/// Errors: those of decode.
[[nodiscard]] Result<double> time_choice(Engine& engine, const Clock& clock);

/// What drafting needs to know: a few sizes of both models behind `depth` tokens, a few decodes each. Uses the caches as
/// it likes and leaves them empty. `progress` is called with the share done. Errors: those of decode.
[[nodiscard]] Result<CostModel> measure_usual_batches(Engine& engine, std::int32_t depth, const Clock& clock,
                                                      const std::function<void(double share)>& progress);

/// The mean time of each size on top of a context of `depth` tokens (at most half of the engine's window), sizes that the
/// engine's limits do not allow left out. `progress` is called before every size with the number done. Uses the
/// caches as it likes and leaves them empty. Errors: those of decode.
[[nodiscard]] Result<std::vector<BatchCost>> measure_batches(Engine& engine, Model model,
                                                             std::span<const std::int32_t> rows, std::int32_t depth,
                                                             const Effort& effort, const Clock& clock,
                                                             const std::function<void(std::size_t done)>& progress);

/// How often each size occurs: rows to count.
using BatchSizes = std::map<std::int32_t, std::size_t>;
[[nodiscard]] BatchSizes sizes_of(std::span<const Batch> schedule, Model model);

/// Times each size on top of the first `depth` tokens of a model's cache, frequent sizes more often, and gives the means
/// (a schedule is a sum, and means add up). Sizes for which there are too few `tokens` are left out. Leaves the cache at
/// `depth`. Errors: those of decode.
[[nodiscard]] Result<std::vector<BatchCost>> time_sizes(Engine& engine, Model model, std::span<const TokenId> tokens,
                                                        const BatchSizes& sizes, std::int32_t depth,
                                                        const Clock& clock);

/// Costs for a schedule that was run: every size of both models that it holds, prefill where it was and the others at
/// the least and the greatest depth. Uses the caches as it likes and leaves them empty. Errors: those of decode.
[[nodiscard]] Result<CostModel> price_schedule(Engine& engine, std::span<const Batch> schedule, const Clock& clock);

/// Brings a model's cache to hold exactly `tokens`, decoding what is missing in batches as large as the engine takes.
/// The caller knows that a longer cache begins with them. Errors: those of decode.
[[nodiscard]] Status fill_cache(Engine& engine, Model model, std::span<const TokenId> tokens);

}  // namespace relaygen::bench
