// What is asked: a question in the words around it.
#pragma once

#include <string>
#include <string_view>

#include "eval/dataset.h"

namespace relaygen::eval {

/// Text with the placeholders {question} and {options}. A name of small letters in braces is a placeholder, any other
/// brace is text; "{{" and "}}" are single braces.
class PromptTemplate {
 public:
  /// Errors: usage naming what is wrong (an unknown placeholder, no {question}, no {options} for problems that have
  /// some, {options} for problems that have none).
  [[nodiscard]] static Result<PromptTemplate> parse(std::string text, std::string_view source, AnswerKind kind);

  /// Options become lines "A) ...".
  [[nodiscard]] std::string render(const Problem& problem) const;
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  explicit PromptTemplate(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// The words that come with RelayGen. `preset` may be null; the problems of `demo` are asked as they are, since the
/// bundled pair knows nothing else.
[[nodiscard]] std::string_view default_template(const Preset* preset, AnswerKind kind);

}  // namespace relaygen::eval
