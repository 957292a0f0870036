// Costs and predictions for people.
#pragma once

#include <string>

#include "relaygen/cost_model.h"

namespace relaygen::cli {

/// A table of parts, a line each: batches, rows, predicted and actual seconds. `other` is what was not spent in batches.
[[nodiscard]] std::string parts_table(const PartTimes& actual, const PartTimes& ideal, double other);

}  // namespace relaygen::cli
