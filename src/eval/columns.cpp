#include "eval/columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "io/names.h"

namespace relaygen::eval {
namespace {

std::optional<std::string> look_for(const Row& row, std::initializer_list<std::string_view> names) {
  for (const auto wanted : names) {
    for (const auto& [key, value] : row.columns.items()) {
      if (simplified(key) == simplified(wanted)) return key;
    }
  }
  return std::nullopt;
}

std::string columns_of(const Row& row) {
  std::vector<std::string> names;
  for (const auto& [key, value] : row.columns.items()) names.push_back(in_quotes(key));
  return names.empty() ? "no columns" : fmt::format("the columns {}", fmt::join(names, ", "));
}

// What the caller named has to be there.
Status check_named(const Row& first, const std::string& file, const ColumnNames& wanted) {
  std::vector<std::string> names{wanted.question, wanted.answer, wanted.id};
  names.insert(names.end(), wanted.options.begin(), wanted.options.end());
  names.insert(names.end(), wanted.wrong.begin(), wanted.wrong.end());
  for (const auto& only : wanted.only) names.push_back(only.column);
  for (const auto& name : names) {
    if (name.empty() || first.columns.contains(name)) continue;
    return fail(ErrorKind::usage,
                fmt::format("{} has no column {}: it has {}", file, in_quotes(name), columns_of(first)),
                "name one of those");
  }
  return std::monostate{};
}

std::optional<std::string> named_or(const std::string& name, std::optional<std::string> found) {
  return name.empty() ? std::move(found) : std::optional(name);
}

void find_options(const Row& first, const ColumnNames& wanted, FoundColumns& found) {
  found.options = wanted.options;
  found.wrong = wanted.wrong;
  if (!found.options.empty() || !found.wrong.empty()) return;
  for (const char* number : {"1", "2", "3"}) {
    if (auto column = look_for(first, {std::string("incorrect answer ") + number}))
      found.wrong.push_back(std::move(*column));
  }
  if (!found.wrong.empty()) return;
  const auto list = look_for(first, {"options", "choices"});
  if (list && (first.columns[*list].is_array() || first.columns[*list].is_object())) found.options.push_back(*list);
}

}  // namespace

Result<FoundColumns> find_columns(const Row& first, const std::string& file, const Preset* preset,
                                  const ColumnNames& wanted) {
  if (auto ok = check_named(first, file, wanted); !ok) return tl::unexpected(ok.error());
  FoundColumns found;
  auto question = named_or(wanted.question, look_for(first, {"question", "problem", "prompt", "input"}));
  if (!question) {
    return fail(ErrorKind::bad_input,
                fmt::format("no column of {} can be the question: it has {}", file, columns_of(first)),
                "name it with --question-column");
  }
  found.question = std::move(*question);
  found.answer = named_or(wanted.answer, look_for(first, {"correct answer", "answer", "expected answer", "expected",
                                                          "target", "final answer", "gold"}));
  if (!found.answer) {
    found.answer = look_for(first, {"solution"});
    found.answer_is_solution = found.answer.has_value();
  }
  found.id = named_or(wanted.id, look_for(first, {"id", "unique_id", "problem_id", "record id", "key"}));
  if (preset == nullptr || preset->kind == AnswerKind::choice || !wanted.options.empty() || !wanted.wrong.empty())
    find_options(first, wanted, found);
  const bool has_options = !found.options.empty() || !found.wrong.empty();
  found.kind = preset != nullptr && preset->kind == AnswerKind::none ? AnswerKind::none
               : has_options                                         ? AnswerKind::choice
               : found.answer                                        ? AnswerKind::math
                                                                     : AnswerKind::none;
  if (found.kind == AnswerKind::none) found.answer.reset();
  if (preset != nullptr && preset->kind == AnswerKind::choice && !has_options) {
    return fail(ErrorKind::bad_input,
                fmt::format("no columns of {} hold the options: it has {}", file, columns_of(first)),
                "name them with --wrong-columns or --options-columns");
  }
  if (!found.answer && (found.kind == AnswerKind::choice || (preset != nullptr && preset->kind != AnswerKind::none))) {
    return fail(ErrorKind::bad_input,
                fmt::format("no column of {} can be the expected answer: it has {}", file, columns_of(first)),
                "name it with --answer-column");
  }
  return found;
}

std::string describe(const FoundColumns& columns) {
  std::string text = fmt::format("questions from '{}'", columns.question);
  if (columns.answer && columns.answer_is_solution)
    text += fmt::format(", answers from the last \\boxed{{}} of '{}'", *columns.answer);
  else if (columns.answer)
    text += fmt::format(", answers from '{}'", *columns.answer);
  else
    text += ", no answers: outputs are kept and not graded";
  const auto& options = columns.wrong.empty() ? columns.options : columns.wrong;
  if (!options.empty())
    text +=
        fmt::format(", {} from '{}'", columns.wrong.empty() ? "options" : "wrong options", fmt::join(options, "', '"));
  text += columns.id ? fmt::format(", ids from '{}'", *columns.id) : ", rows as ids";
  return text;
}

std::optional<std::string> text_of(const Row& row, const std::string& column) {
  if (!row.columns.contains(column)) return std::nullopt;
  const OrderedJson& value = row.columns[column];
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

}  // namespace relaygen::eval
