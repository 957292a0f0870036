// What a batch costs on this machine, and what that lets the relay gain.
#pragma once

#include <functional>
#include <vector>

#include "relaygen/engine.h"
#include "relaygen/relay.h"

namespace relaygen::cli {

struct BatchCost {
  std::int32_t rows = 0;
  double seconds = 0;  ///< the fastest of several decodes: what disturbs a machine only adds
};

/// Decodes batches of the given sizes on top of a short context, leaving out those that the engine's limits do not
/// allow. `progress` is called before every size. Errors: those of decode.
[[nodiscard]] Result<std::vector<BatchCost>> measure_batches(Engine& engine, Model model,
                                                             std::span<const std::int32_t> rows, const Clock& clock,
                                                             const std::function<void(std::size_t done)>& progress);

/// Cost of a batch between and beyond the measured sizes, by straight lines.
[[nodiscard]] double cost_of(std::span<const BatchCost> costs, double rows);

/// Time of the large model alone divided by the relay's, where the small model writes `share` of the tokens in segments
/// of `segment` tokens: per cycle the large model decodes its own tokens, one batch catches up with the small model's
/// segment and goes on, the small model catches up likewise, decodes its segment, and one more token to see the end.
[[nodiscard]] double relay_speed_up(std::span<const BatchCost> large, std::span<const BatchCost> small, double share,
                                    double segment);

}  // namespace relaygen::cli
