// How many tokens may be written, and when the thinking has to close.
#pragma once

#include <cstdint>
#include <vector>

#include "relaygen/engine.h"
#include "relaygen/relay.h"

namespace relaygen {

struct BudgetPlan {
  std::uint64_t total = 0;  ///< generated tokens of any author
  std::uint64_t thinking =
      0;                     ///< after this many the closing tag is forced; meaningless for a model that does not think
  std::uint64_t slack = 0;   ///< this many tokens before that, a sentence end is taken as the place to close
  std::uint64_t answer = 0;  ///< answer tokens, at most
  std::vector<TokenId> open;                    ///< the opening tag, for a thinking that has to close before it began
  std::vector<TokenId> close;                   ///< the closing tag with its line breaks; empty: nothing to force
  std::vector<TokenId> close_after_line_break;  ///< the same where the text already ends in a line break
};

/// Errors: too_long where the prompt leaves no room, usage where the answer budget leaves none for thinking.
[[nodiscard]] Result<BudgetPlan> plan_budgets(const Engine& engine, const Request& request);

}  // namespace relaygen
