// The table that `relaygen eval` prints, at most 100 columns wide.
#pragma once

#include <string>

#include "eval/summary.h"

namespace relaygen::cli {

/// Two blocks, accuracy and cost, then a sentence for each comparison and each note.
[[nodiscard]] std::string eval_table(const eval::Summary& summary);

}  // namespace relaygen::cli
