// Traces that the large model writes.
#pragma once

#include <atomic>

#include "calibrate/trace.h"
#include "relaygen/relay.h"

namespace relaygen::calibrate {

/// Lets the large model write one. `request` has the prompt of the problem; its policy is replaced. Errors: those of
/// Generation::create and run.
[[nodiscard]] Result<Trace> sample_trace(Engine& engine, Request request, const TraceKey& key, std::uint64_t seed,
                                         const std::atomic<bool>& cancel);

}  // namespace relaygen::calibrate
