// Where traces come from: the large model writes them, or somebody has them already.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/trace.h"
#include "eval/dataset.h"
#include "relaygen/pair.h"
#include "relaygen/relay.h"

namespace relaygen::calibrate {

/// Lets the large model write one. `request` has the prompt of the problem; its policy is replaced. Errors: those of
/// Generation::create and run.
[[nodiscard]] Result<Trace> sample_trace(Engine& engine, Request request, const TraceKey& key, std::uint64_t seed,
                                         const std::atomic<bool>& cancel);

/// A text that somebody has already, with the question that it answers.
struct ForeignText {
  TraceKey key{};
  std::string question{};
  std::string expected{};               ///< empty: unknown
  std::vector<ChatMessage> messages{};  ///< what was asked
  std::string reasoning{};              ///< the thinking without tags, where it came apart from the text
  std::string text{};                   ///< thinking with its tags, and answer; or the answer alone
  std::string where{};                  ///< "traces.jsonl, line 3"
};

struct ForeignTexts {
  std::vector<ForeignText> texts{};
  std::vector<std::string> notes{};  ///< what was left out, and why
};

/// Reads rows (JSON lines, JSON or CSV) that hold a question and a text, or "messages" that end with one of the
/// assistant ("reasoning_content" beside "content" is its thinking). Rows with the same id, or without ids
/// with the same question, are samples of one problem, counted from 0. Empty texts and copies are left out.
/// Errors: bad_input with the place (not UTF-8, no question, no text), or where nothing is left.
[[nodiscard]] Result<ForeignTexts> parse_foreign_texts(std::string_view content, const std::string& source);

/// The text as tokens behind its prompt. A begin tag that the prompt has already is cut off, one that is missing before
/// an end tag is put in. The trace counts as finished where its thinking ended. Errors: those of tokenize.
[[nodiscard]] Result<Trace> trace_of(const ForeignText& foreign, const Vocabulary& vocabulary, const ChatPrompt& prompt,
                                     std::uint64_t seed);

/// Keeps the first `tokens` tokens: a trace that never came to its end.
void cut(Trace& trace, std::size_t tokens);

/// Fills in `ends` and `text` from the tokens.
void spell(Trace& trace, const Vocabulary& vocabulary);

}  // namespace relaygen::calibrate
