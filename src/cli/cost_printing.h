// Costs and predictions for people.
#pragma once

#include <span>

#include "relaygen/cost_model.h"

namespace relaygen::cli {

/// A table of parts: batches, rows, predicted and actual seconds. `other` is what was not spent in batches.
void print_parts(const PartTimes& actual, const PartTimes& ideal, double other);

}  // namespace relaygen::cli
