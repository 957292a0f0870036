// The meaning of cues, written down as slowly and obviously as possible: every candidate at every position.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"

namespace relaygen::oracle {

/// What fires in a whole text, in order of end.
[[nodiscard]] std::vector<CueMatch> matches(std::span<const Cue> cues, std::string_view text, Rules rules);

}  // namespace relaygen::oracle
