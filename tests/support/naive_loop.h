// The relay written in the most obvious way, as an oracle: before every token the whole log is prefilled again, and all
// text is looked at again from its first byte. No caches, no snapshots, no watermarks, no catch-up.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "relaygen/engine.h"
#include "relaygen/relay.h"

namespace relaygen::testing {

struct NaiveToken {
  TokenId id;
  Author author;
  bool operator==(const NaiveToken&) const = default;
};

/// Logits after `context`, computed from nothing but the context.
using NaiveModel = std::function<std::vector<float>(Model model, std::span<const TokenId> context)>;

struct NaiveResult {
  std::vector<NaiveToken> tokens;  ///< generated ones, provisional ones resolved
  bool ended = false;              ///< by an end-of-generation token (otherwise: the budget)
};

/// Supports total budgets and every policy (drafting changes nothing); no forced tags, no stop strings, exact and published rules.
[[nodiscard]] NaiveResult naive_relay(const Vocabulary& vocabulary, const Request& request, const NaiveModel& model,
                                      std::size_t total);

}  // namespace relaygen::testing
