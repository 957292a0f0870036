// A trace: one text of the large model, token by token, with what both models think of each token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relaygen/engine.h"
#include "relaygen/phase.h"
#include "relaygen/types.h"

namespace relaygen::calibrate {

/// Which trace: one sample of one problem.
struct TraceKey {
  std::string problem{};
  std::uint32_t sample = 0;
  auto operator<=>(const TraceKey&) const = default;
};

struct Trace {
  TraceKey key{};
  bool imported = false;   ///< somebody else wrote it; then `seed` is only a source for new texts
  std::uint64_t seed = 0;  ///< with which it was sampled
  std::vector<TokenId> prompt{};
  PromptState prompt_state = PromptState::before_thinking;
  std::vector<TokenId> tokens{};      ///< what was generated
  std::vector<std::uint32_t> ends{};  ///< of each token: offset one past its last byte in `text`
  std::string text{};                 ///< bytes of the tokens
  bool finished = false;              ///< it came to its own end, and its thinking too

  [[nodiscard]] std::uint32_t begin_of(std::size_t token) const { return token == 0 ? 0 : ends[token - 1]; }
};

/// What a model thinks of the places of a trace, each predicted from everything before it. All vectors have one element
/// a token of the trace.
struct Opinions {
  std::vector<float> margin{};    ///< p(top-1) - p(top-2), temperature 1, unfiltered
  std::vector<float> logprob{};   ///< log p of the token that stands there
  std::vector<float> entropy{};   ///< natural logarithm
  std::vector<TokenId> top{};     ///< the most likely token
  std::vector<float> of_asked{};  ///< log p of another model's most likely token; empty where nothing was asked
};

/// Keeps the first `tokens` tokens: a trace that never came to its end.
void cut(Trace& trace, std::size_t tokens);

/// Fills in `ends` and `text` from the tokens.
void spell(Trace& trace, const Vocabulary& vocabulary);

/// Where the parts of a trace's text stand. Tokens count from 0; a token belongs to where it begins.
struct Extent {
  std::uint32_t thinking_begin = 0, thinking_end = 0;   ///< bytes, without the tags
  std::optional<std::uint32_t> answer_begin{};          ///< byte; none: the thinking did not end
  std::optional<std::uint32_t> graded_from{};           ///< byte; as answer_begin, or 0 for a model that does not think
  std::uint32_t first_thinking = 0, last_thinking = 0;  ///< tokens, half-open
  std::uint32_t first_answer = 0;                       ///< token; the number of tokens where there is no answer
};

[[nodiscard]] Extent extent_of(const Trace& trace, const ThinkingTags& tags);

/// The thinking without its tags; a view into the trace.
[[nodiscard]] std::string_view thinking_of(const Trace& trace, const Extent& extent);

/// The first token that begins at `byte` or behind it.
[[nodiscard]] std::uint32_t token_from(const Trace& trace, std::uint64_t byte);

}  // namespace relaygen::calibrate
