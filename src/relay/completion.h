// From the token log to what a caller reads.
#pragma once

#include "relay/loop.h"
#include "relaygen/relay.h"

namespace relaygen {

/// Text, thinking, answer, segments and usage of the committed tokens. Timing and error are left to the caller.
[[nodiscard]] Completion assemble_completion(const Loop& loop);

}  // namespace relaygen
