// A calibration as text for a terminal.
#pragma once

#include <string>

#include "calibrate/findings.h"

namespace relaygen::cli {

/// `file` is where the profile went; empty: nowhere.
[[nodiscard]] std::string calibration_table(const calibrate::Analysis& analysis, const calibrate::Findings& findings,
                                            const std::string& file);

}  // namespace relaygen::cli
