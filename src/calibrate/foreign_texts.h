// Texts that somebody has already, as traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/trace.h"
#include "relaygen/pair.h"

namespace relaygen::calibrate {

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

}  // namespace relaygen::calibrate
