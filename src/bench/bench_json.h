// Results of a bench as JSON (docs/json.md).
#pragma once

#include <optional>
#include <string>

#include "bench/bench.h"
#include "io/completion_json.h"

namespace relaygen::bench {

/// rows, batch_costs and prefill of one depth or of live texts. Vectors over the repetitions become medians with
/// intervals.
[[nodiscard]] OrderedJson rows_to_json(const BenchResult& result);
[[nodiscard]] OrderedJson costs_to_json(const BenchResult& result);
[[nodiscard]] OrderedJson costs_to_json(const CostModel& costs);
/// From {"costs": as above, "output_row_s": seconds, "choice_s": seconds}; nothing where that is not what the JSON holds.
[[nodiscard]] std::optional<CostModel> costs_from_json(const OrderedJson& json);

/// Predicted beside actual, part by part.
[[nodiscard]] OrderedJson parts_to_json(const PartTimes& actual, const PartTimes& ideal, double other);

}  // namespace relaygen::bench
