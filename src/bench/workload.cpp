#include "bench/workload.h"

#include <fmt/core.h>

#include <algorithm>

namespace relaygen::bench {
namespace {

// The last `count` tokens before token `place` of trace `index`, going back through the traces in a circle.
std::vector<TokenId> context_before(std::span<const Trace> traces, std::size_t index, std::size_t place,
                                    std::size_t count) {
  std::vector<TokenId> backwards;
  while (backwards.size() < count) {
    while (place > 0 && backwards.size() < count) backwards.push_back(traces[index].tokens[--place]);
    index = (index + traces.size() - 1) % traces.size();
    place = traces[index].tokens.size();
  }
  return {backwards.rbegin(), backwards.rend()};
}

PromptState state_at(const Vocabulary& vocabulary, std::span<const TokenId> before) {
  PhaseTracker tracker;
  for (const TokenId token : before) tracker.feed(trace_tags(), vocabulary.piece(token));
  if (tracker.phase() == Phase::answer) return PromptState::answering;
  return tracker.opened() ? PromptState::thinking : PromptState::before_thinking;
}

}  // namespace

const ThinkingTags& trace_tags() {
  static const ThinkingTags tags{"<think>", {"</think>"}};
  return tags;
}

std::vector<Window> cut_windows(const Vocabulary& vocabulary, std::span<const Trace> traces,
                                const WindowOptions& options) {
  std::vector<Window> windows;
  const std::size_t rounds = (options.windows + traces.size() - 1) / traces.size();
  for (std::size_t i = 0; i < options.windows; ++i) {
    const std::size_t index = i % traces.size();
    const Trace& trace = traces[index];
    const std::size_t size = std::min(options.tokens, trace.tokens.size());
    const std::size_t round = i / traces.size();
    if (round > 0 && size == trace.tokens.size()) continue;  // all of it is there already
    const std::size_t place = (2 * round + 1) * (trace.tokens.size() - size) / (2 * rounds);
    Window window{trace.id, context_before(traces, index, place, options.context), options.context, {}};
    const auto tokens = std::span(trace.tokens);
    window.state = state_at(vocabulary, tokens.first(place));
    window.tokens.insert(window.tokens.end(), tokens.begin() + static_cast<std::ptrdiff_t>(place),
                         tokens.begin() + static_cast<std::ptrdiff_t>(place + size));
    windows.push_back(std::move(window));
  }
  return windows;
}

Window whole_trace(const Trace& trace, std::span<const TokenId> prompt, PromptState state) {
  Window window{trace.id, {prompt.begin(), prompt.end()}, prompt.size(), state};
  window.tokens.insert(window.tokens.end(), trace.tokens.begin(), trace.tokens.end());
  return window;
}

Result<std::vector<NamedText>> read_texts(const std::string& file) {
  auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  return parse_texts(*content, file);
}

Result<std::vector<Trace>> tokenize_texts(std::span<const NamedText> texts, const Vocabulary& vocabulary,
                                          const std::string& file) {
  std::vector<Trace> traces;
  for (const NamedText& text : texts) {
    auto tokens = vocabulary.tokenize(text.text);
    if (!tokens) return tl::unexpected(tokens.error());
    const auto end =
        std::find_if(tokens->begin(), tokens->end(), [&](TokenId token) { return vocabulary.ends_generation(token); });
    tokens->erase(end, tokens->end());  // recorded texts often hold the token that ended them
    if (!tokens->empty()) traces.push_back({text.id, std::move(*tokens)});
  }
  if (traces.empty()) {
    return fail(ErrorKind::bad_input, fmt::format("{} holds no text to replay", file),
                "give JSONL with a \"text\" in each object, or a plain text");
  }
  return traces;
}

}  // namespace relaygen::bench
