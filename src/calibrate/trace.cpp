#include "calibrate/trace.h"

#include <algorithm>

namespace relaygen::calibrate {

std::uint32_t token_from(const Trace& trace, std::uint64_t byte) {
  // Token i begins where token i - 1 ends.
  const auto before = std::ranges::lower_bound(trace.ends, byte);
  if (byte == 0) return 0;
  const auto index = static_cast<std::uint32_t>(before - trace.ends.begin()) + 1;
  return std::min(index, static_cast<std::uint32_t>(trace.tokens.size()));
}

void spell(Trace& trace, const Vocabulary& vocabulary) {
  trace.text.clear();
  trace.ends.clear();
  for (const TokenId token : trace.tokens) {
    trace.text += vocabulary.piece(token);
    trace.ends.push_back(static_cast<std::uint32_t>(trace.text.size()));
  }
}

void cut(Trace& trace, std::size_t tokens) {
  if (tokens >= trace.tokens.size()) return;
  trace.tokens.resize(tokens);
  trace.ends.resize(tokens);
  trace.text.resize(tokens == 0 ? 0 : trace.ends.back());
  trace.finished = false;
}

Extent extent_of(const Trace& trace, const ThinkingTags& tags) {
  PhaseTracker phase(trace.prompt_state == PromptState::before_thinking && tags.begin.empty() ? PromptState::thinking
                                                                                              : trace.prompt_state);
  phase.feed(tags, trace.text);
  Extent extent;
  const auto size = static_cast<std::uint32_t>(trace.text.size());
  extent.thinking_begin = static_cast<std::uint32_t>(phase.thinking_begin());
  extent.thinking_end = static_cast<std::uint32_t>(phase.thinking_end().value_or(size));
  if (const auto answer = phase.answer_begin()) extent.answer_begin = static_cast<std::uint32_t>(*answer);
  extent.graded_from = tags.ends.empty() ? std::optional<std::uint32_t>(0) : extent.answer_begin;
  extent.first_thinking = token_from(trace, extent.thinking_begin);
  extent.last_thinking = std::max(extent.first_thinking, token_from(trace, extent.thinking_end));
  extent.first_answer = token_from(trace, extent.answer_begin.value_or(size));
  return extent;
}

std::string_view thinking_of(const Trace& trace, const Extent& extent) {
  return std::string_view(trace.text).substr(extent.thinking_begin, extent.thinking_end - extent.thinking_begin);
}

}  // namespace relaygen::calibrate
