// A calibration as JSON (docs/calibration.md).
#pragma once

#include "calibrate/findings.h"
#include "calibrate/make_profile.h"
#include "io/completion_json.h"

namespace relaygen::calibrate {

/// Everything that a report shows, without where it comes from: settings, counts, every candidate with its numbers, what
/// the selected ones hand over, thresholds, answers, one trace.
[[nodiscard]] OrderedJson calibration_to_json(const Analysis& analysis, const Findings& findings);

}  // namespace relaygen::calibrate
