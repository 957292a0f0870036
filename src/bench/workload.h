// What is replayed: windows of recorded texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/files.h"
#include "relaygen/engine.h"
#include "relaygen/error.h"
#include "relaygen/phase.h"

namespace relaygen::bench {

/// A recorded text, thinking and answer, with the thinking tags that are written in it.
struct Trace {
  std::string id{};
  std::vector<TokenId> tokens{};  ///< never empty
};

/// The tags that recorded texts are read with.
[[nodiscard]] const ThinkingTags& trace_tags();

/// A piece of a trace behind a context.
struct Window {
  std::string trace{};
  std::vector<TokenId> tokens{};                     ///< context, then text
  std::size_t context = 0;                           ///< tokens of the context, >= 1
  PromptState state = PromptState::before_thinking;  ///< where the context leaves the model
  [[nodiscard]] std::size_t text() const noexcept { return tokens.size() - context; }
};

struct WindowOptions {
  std::size_t windows = 4;
  std::size_t tokens = 128;   ///< of text in a window, at most
  std::size_t context = 256;  ///< tokens before it, >= 1
};

/// Cuts windows at places spread evenly over the traces: the first of each trace before the second of any. Fewer come
/// out where traces are no longer than a window. The context
/// is what stands before the window, and where that is too short the ends of other traces before it. So how deep a
/// window lies in the cache does not depend on where in its text it stands. Requires at least one trace. Pure.
[[nodiscard]] std::vector<Window> cut_windows(const Vocabulary& vocabulary, std::span<const Trace> traces,
                                              const WindowOptions& options);

/// A whole trace behind a prompt of at least one token.
[[nodiscard]] Window whole_trace(const Trace& trace, std::span<const TokenId> prompt, PromptState state);

/// Reads texts as `relaygen segment` does: JSONL with a text field, or one plain text.
/// Errors: bad_input (unreadable, malformed).
[[nodiscard]] Result<std::vector<NamedText>> read_texts(const std::string& file);

/// Makes traces of the texts of a file, each up to the first token that ends a text; empty ones are left out.
/// Errors: bad_input (no text in it).
[[nodiscard]] Result<std::vector<Trace>> tokenize_texts(std::span<const NamedText> texts, const Vocabulary& vocabulary,
                                                        const std::string& file);

}  // namespace relaygen::bench
