// What can be said about a request without an engine.
#include <fmt/core.h>

#include <cmath>

#include "relaygen/relay.h"

namespace relaygen {

Status check_values(const Request& request) {
  const auto bad = [](std::string what, std::string hint) {
    return fail(ErrorKind::usage, std::move(what), std::move(hint));
  };
  const SamplingOptions& s = request.sampling;
  if (!(s.temperature >= 0) || std::isinf(s.temperature))
    return bad(fmt::format("the temperature is {}", s.temperature), "give 0 (greedy) or more");
  if (!(s.top_p > 0 && s.top_p <= 1))
    return bad(fmt::format("top-p is {}", s.top_p), "give more than 0, up to 1 (off)");
  if (!(s.min_p >= 0 && s.min_p <= 1)) return bad(fmt::format("min-p is {}", s.min_p), "give 0 (off) to 1");
  if (!(s.repeat_penalty > 0) || std::isinf(s.repeat_penalty))
    return bad(fmt::format("the repeat penalty is {}", s.repeat_penalty), "give more than 0; 1 is off");
  if (!std::isfinite(s.presence_penalty) || !std::isfinite(s.frequency_penalty))
    return bad("a penalty is no finite number", "give numbers such as 0.5");
  if (s.penalty_last_n < -1)
    return bad(fmt::format("the penalties look at the last {} tokens", s.penalty_last_n),
               "give 0 (off) or more, or -1 for all");
  const Policy& p = request.policy;
  if (!(p.random_rate >= 0 && p.random_rate <= 1))
    return bad(fmt::format("the random rate is {}", p.random_rate), "give a probability, 0 to 1");
  if (p.max_small_tokens < 1)
    return bad("the small model may write 0 tokens a segment", "give max_small_tokens of at least 1");
  if (!(p.guard_margin >= 0 && p.guard_margin <= 1))
    return bad(fmt::format("the guard's margin is {}", p.guard_margin), "give 0 (off) to 1");
  if (!(p.typical.epsilon > 0 && p.typical.epsilon <= 1))
    return bad(fmt::format("epsilon of the typical criterion is {}", p.typical.epsilon), "give more than 0, up to 1");
  if (!(p.typical.delta > 0) || std::isinf(p.typical.delta))
    return bad(fmt::format("delta of the typical criterion is {}", p.typical.delta), "give more than 0");
  if (!(p.draft.acceptance > 0 && p.draft.acceptance < 1))
    return bad(fmt::format("the expected acceptance of drafts is {}", p.draft.acceptance),
               "give a share between 0 and 1");
  if (p.handoffs == HandoffRule::always && p.verify == Verification::off && p.guard_margin == 0)
    return bad("nothing checks what the small model writes everywhere", "verify it, or give a guard");
  if (p.thinker == Model::small && p.verify != Verification::off)
    return bad("the small model writes alone, and nobody verifies it", "turn verification off");
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return bad("a stop string is empty", "leave it out");
  }
  for (const std::string& tag : request.tags.ends) {
    if (tag.size() > kMaxTagBytes)
      return bad(fmt::format("the thinking tag {} is too long", tag),
                 fmt::format("use tags of at most {} bytes", kMaxTagBytes));
  }
  for (const auto& [what, budget] :
       {std::pair{"total", request.budgets.total}, std::pair{"thinking", request.budgets.thinking},
        std::pair{"answer", request.budgets.answer}}) {
    if (budget < -1)
      return bad(fmt::format("the {} budget is {} tokens", what, budget),
                 "give 0 or more, or -1 for no limit of its own");
  }
  return std::monostate{};
}

}  // namespace relaygen
