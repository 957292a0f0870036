#include "relay/budget.h"

#include <fmt/core.h>

#include <algorithm>

namespace relaygen {
namespace {

constexpr std::int64_t kDefaultAnswerReserve = 2048;
constexpr std::int64_t kLongestSlack = 24;

Status tokenize(const Engine& engine, const std::string& text, std::vector<TokenId>& tokens) {
  auto result = engine.vocabulary().tokenize(text);
  if (!result) return tl::unexpected(result.error());
  tokens = std::move(*result);
  return std::monostate{};
}

// As if the text began where the prompt's own part ends.
Result<BudgetPlan> plan_whole_text(const Engine& engine, const Request& request) {
  const std::int64_t window = engine.limits().window;
  const auto continued = static_cast<std::int64_t>(request.continued);
  const std::int64_t room = window - static_cast<std::int64_t>(request.prompt.size()) + continued;
  if (room - continued < 1) {
    return fail(
        ErrorKind::too_long,
        fmt::format("the prompt has {} tokens and the window of the pair holds {}", request.prompt.size(), window),
        "shorten the prompt or give a larger -c");
  }

  BudgetPlan plan;
  std::int64_t total = room;
  if (request.budgets.total >= 0) total = std::min<std::int64_t>(total, request.budgets.total);
  plan.total = static_cast<std::uint64_t>(total);
  plan.answer = static_cast<std::uint64_t>(
      request.budgets.answer >= 0 ? std::min<std::int64_t>(request.budgets.answer, total) : total);
  plan.thinking = plan.total;
  if (request.tags.ends.empty()) plan.total = std::min(plan.total, plan.answer);  // its whole text is the answer
  if (request.tags.ends.empty() || request.prompt_state == PromptState::answering) return plan;

  const std::string& tag = request.tags.ends.front();
  if (request.prompt_state == PromptState::before_thinking && !request.tags.begin.empty()) {
    if (auto ok = tokenize(engine, request.tags.begin, plan.open); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = tokenize(engine, "\n" + tag + "\n\n", plan.close); !ok) return tl::unexpected(ok.error());
  if (auto ok = tokenize(engine, tag + "\n\n", plan.close_after_line_break); !ok) return tl::unexpected(ok.error());

  const auto forced = static_cast<std::int64_t>(plan.open.size() + plan.close.size());
  const bool thinks_not = request.budgets.thinking == 0;
  if (forced >= total) {  // no room to close anything: the text is cut wherever it is
    plan.open.clear();
    plan.close.clear();
    return plan;
  }
  const std::int64_t reserve =
      request.budgets.answer >= 0 ? request.budgets.answer : std::min<std::int64_t>(total / 4, kDefaultAnswerReserve);
  std::int64_t thinking = total - reserve - forced;
  if (thinking <= 0 && !thinks_not && request.budgets.answer >= 0) {
    return fail(
        ErrorKind::usage,
        fmt::format("an answer budget of {} tokens leaves no room for thinking: there are {} in all", reserve, total),
        "give a smaller answer budget, or a thinking budget of 0");
  }
  thinking = std::max<std::int64_t>(0, thinking);
  if (request.budgets.thinking >= 0) thinking = std::min<std::int64_t>(thinking, request.budgets.thinking);
  plan.thinking = static_cast<std::uint64_t>(thinking);
  plan.slack = static_cast<std::uint64_t>(std::min(kLongestSlack, thinking / 8));
  return plan;
}

}  // namespace

Result<BudgetPlan> plan_budgets(const Engine& engine, const Request& request) {
  auto plan = plan_whole_text(engine, request);
  if (!plan) return plan;
  for (std::uint64_t* budget : {&plan->total, &plan->thinking}) *budget -= std::min(*budget, request.continued);
  return plan;
}

}  // namespace relaygen
