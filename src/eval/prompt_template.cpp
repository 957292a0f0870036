#include "eval/prompt_template.h"

#include <fmt/core.h>

namespace relaygen::eval {
namespace {

// Calls `text` for literal pieces and `placeholder` for names in braces, in order.
template <typename Text, typename Placeholder>
void walk(std::string_view content, Text text, Placeholder placeholder) {
  while (!content.empty()) {
    const auto brace = content.find_first_of("{}");
    text(content.substr(0, brace));
    if (brace == std::string_view::npos) return;
    content.remove_prefix(brace);
    if (content.size() > 1 && content[1] == content[0]) {
      text(content.substr(0, 1));
      content.remove_prefix(2);
      continue;
    }
    const auto end = content.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", 1);
    if (content[0] == '{' && end != std::string_view::npos && end > 1 && content[end] == '}') {
      placeholder(content.substr(1, end - 1));
      content.remove_prefix(end + 1);
      continue;
    }
    text(content.substr(0, 1));
    content.remove_prefix(1);
  }
}

}  // namespace

Result<PromptTemplate> PromptTemplate::parse(std::string text, std::string_view source, AnswerKind kind) {
  bool question = false;
  bool options = false;
  std::string unknown;
  walk(
      text, [](std::string_view) {},
      [&](std::string_view name) {
        if (name == "question") {
          question = true;
        } else if (name == "options") {
          options = true;
        } else if (unknown.empty()) {
          unknown = name;
        }
      });
  if (!unknown.empty()) {
    return fail(ErrorKind::usage, fmt::format("the template {} has an unknown placeholder {{{}}}", source, unknown),
                fmt::format("use {{question}} and {{options}}; the text itself is written {{{{{}}}}}", unknown));
  }
  if (!question)
    return fail(ErrorKind::usage, fmt::format("the template {} has no {{question}}", source),
                "put it where the question goes");
  if (kind == AnswerKind::choice && !options) {
    return fail(ErrorKind::usage, fmt::format("the template {} has no {{options}}, and the problems have some", source),
                "put it where the options go");
  }
  if (kind != AnswerKind::choice && options) {
    return fail(ErrorKind::usage, fmt::format("the template {} has {{options}}, and the problems have none", source),
                "take it out, or name the options with --options-columns");
  }
  return PromptTemplate(std::move(text));
}

std::string PromptTemplate::render(const Problem& problem) const {
  std::string result;
  walk(
      text_, [&](std::string_view piece) { result += piece; },
      [&](std::string_view name) {
        if (name == "question") {
          result += problem.question;
          return;
        }
        for (std::size_t i = 0; i < problem.options.size(); ++i)
          result += fmt::format("{}{}) {}", i == 0 ? "" : "\n", static_cast<char>('A' + i), problem.options[i]);
      });
  return result;
}

std::string_view default_template(const Preset* preset, AnswerKind kind) {
  if (preset != nullptr && preset->name == "demo") return "{question}";
  switch (kind) {
    case AnswerKind::math:
      return "{question}\n\nPlease reason step by step, and put your final answer within \\boxed{}.";
    case AnswerKind::choice:
      return "{question}\n\n{options}\n\nPlease reason step by step, and put the letter of the right option within "
             "\\boxed{}.";
    case AnswerKind::none: break;
  }
  return "{question}";
}

}  // namespace relaygen::eval
