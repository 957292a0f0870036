// Teacher forcing: what a model thinks of a text that is already there, read in large batches.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "calibrate/trace.h"
#include "relaygen/engine.h"
#include "relaygen/error.h"

namespace relaygen::calibrate {

/// Reads prompt and tokens into an empty cache and notes for each token what the model expected in its place. `asked`
/// holds nothing, or another model's most likely token for each place, whose log p is wanted. As many rows a batch as
/// the engine gives logits of. Afterwards the engine's caches belong to nobody.
/// Requires a prompt of one token or more that fits the window together with the tokens.
/// Errors: those of Engine::decode; cancelled.
[[nodiscard]] Result<Opinions> opinions_of(Engine& engine, Model model, std::span<const TokenId> prompt,
                                           std::span<const TokenId> tokens, std::span<const TokenId> asked,
                                           const std::atomic<bool>& cancel);

}  // namespace relaygen::calibrate
