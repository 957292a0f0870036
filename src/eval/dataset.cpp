#include "eval/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "eval/columns.h"
#include "io/files.h"
#include "io/hashing.h"

namespace relaygen::eval {
namespace {

constexpr std::size_t kMostOptions = 26;  // letters

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

tl::unexpected<Error> bad_row(const Row& row, std::string what, std::string hint) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", row.where, what), std::move(hint));
}

// The expected answer of a problem without options.
Result<std::string> expected_answer(const Row& row, const FoundColumns& columns) {
  const auto text = text_of(row, *columns.answer);
  if (!text || trimmed(*text).empty())
    return bad_row(row, fmt::format("there is no answer in {}", in_quotes(*columns.answer)),
                   "fill it in or leave the row out");
  std::string_view answer = trimmed(*text);
  std::optional<std::string> boxed;
  if (columns.answer_is_solution) {
    boxed = text->find("\\boxed") == std::string::npos ? std::nullopt : extract_answer(*text, AnswerKind::math);
    if (!boxed)
      return bad_row(row, "the solution holds no \\boxed answer",
                     "name the column of the answers with --answer-column");
    answer = trimmed(*boxed);
  } else if (const auto mark = answer.rfind("####"); mark != std::string_view::npos) {
    answer = trimmed(answer.substr(mark + 4));
  }
  if (answer.empty()) return bad_row(row, "the answer is empty", "fill it in or leave the row out");
  return std::string(answer);
}

// Options of one list (also {"text": [...]}) or of several columns; empty where they are not texts.
std::vector<std::string> read_options(const Row& row, const std::vector<std::string>& columns) {
  std::vector<std::string> options;
  const auto take = [&](const OrderedJson& value) {
    if (value.is_string()) options.emplace_back(trimmed(value.get_ref<const std::string&>()));
    if (value.is_number()) options.push_back(value.dump());
  };
  for (const auto& column : columns) {
    if (!row.columns.contains(column)) continue;
    const OrderedJson& value = row.columns[column];
    const OrderedJson& list = value.is_object() && value.contains("text") ? value["text"] : value;
    if (!list.is_array()) {
      take(list);
      continue;
    }
    for (const auto& one : list) take(one);
  }
  return options;
}

// Fisher-Yates with draws from the question's hash.
void shuffle(std::vector<std::string>& options, std::string_view question) {
  for (std::size_t i = options.size(); i > 1; --i) {
    const auto draw = Hash().add(question).add(std::uint64_t{i}).value();
    std::swap(options[i - 1], options[static_cast<std::size_t>(draw % i)]);
  }
}

std::string letter(std::size_t index) { return std::string(1, static_cast<char>('A' + index)); }

// The letter of the right option: given as the option's text, as a letter, or as an index from 0.
std::optional<std::string> right_letter(const std::vector<std::string>& options, std::string_view answer) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i] == answer) return letter(i);
  }
  if (answer.size() == 1 && answer[0] >= 'A' && static_cast<std::size_t>(answer[0] - 'A') < options.size())
    return std::string(answer);
  if (answer.size() == 1 && answer[0] >= 'a' && static_cast<std::size_t>(answer[0] - 'a') < options.size())
    return letter(static_cast<std::size_t>(answer[0] - 'a'));
  if (answer.size() == 1 && answer[0] >= '0' && static_cast<std::size_t>(answer[0] - '0') < options.size())
    return letter(static_cast<std::size_t>(answer[0] - '0'));
  return std::nullopt;
}

Status read_choice(const Row& row, const FoundColumns& columns, Problem& problem) {
  const auto text = text_of(row, *columns.answer);
  const std::string answer(trimmed(text.value_or("")));
  if (answer.empty())
    return bad_row(row, fmt::format("there is no answer in {}", in_quotes(*columns.answer)),
                   "fill it in or leave the row out");
  problem.options = read_options(row, columns.wrong.empty() ? columns.options : columns.wrong);
  if (!columns.wrong.empty()) {
    problem.options.push_back(answer);
    shuffle(problem.options, problem.question);
  }
  if (problem.options.size() < 2 || problem.options.size() > kMostOptions) {
    return bad_row(row, fmt::format("{} options cannot be lettered", problem.options.size()),
                   fmt::format("give 2 to {} options", kMostOptions));
  }
  auto right = right_letter(problem.options, answer);
  if (!right) {
    return bad_row(row,
                   fmt::format("the answer {} is none of the {} options", in_quotes(answer), problem.options.size()),
                   "give the text of an option, its letter, or its number from 0");
  }
  problem.expected = std::move(*right);
  return std::monostate{};
}

Result<Problem> read_problem(const Row& row, std::size_t number, const FoundColumns& columns) {
  Problem problem;
  problem.kind = columns.kind;
  const auto question = text_of(row, columns.question);
  if (!question)
    return bad_row(row, fmt::format("there is no text in {}", in_quotes(columns.question)),
                   "fill it in or leave the row out");
  problem.question = std::string(trimmed(*question));
  if (problem.question.empty()) return bad_row(row, "the question is empty", "fill it in or leave the row out");
  problem.id = fmt::format("{}", number);
  if (columns.id) {
    auto id = text_of(row, *columns.id);
    if (!id || trimmed(*id).empty())
      return bad_row(row, fmt::format("there is no id in {}", in_quotes(*columns.id)),
                     "fill it in or leave the row out");
    problem.id = std::string(trimmed(*id));
  }
  if (columns.kind == AnswerKind::choice) {
    if (auto ok = read_choice(row, columns, problem); !ok) return tl::unexpected(ok.error());
  } else if (columns.kind == AnswerKind::math) {
    auto answer = expected_answer(row, columns);
    if (!answer) return tl::unexpected(answer.error());
    problem.expected = std::move(*answer);
  }
  return problem;
}

bool wanted_row(const Row& row, const std::vector<ColumnNames::Only>& filters) {
  return std::ranges::all_of(filters, [&](const ColumnNames::Only& only) {
    const auto text = text_of(row, only.column);
    return text && std::ranges::find(only.values, *text) != only.values.end();
  });
}

std::string hash_of(const std::vector<Problem>& problems) {
  Hash hash;
  for (const auto& problem : problems) {
    hash.add(problem.id).add(problem.question).add(problem.expected).add(std::uint64_t{problem.options.size()});
    for (const auto& option : problem.options) hash.add(option);
  }
  return hash.hex();
}

}  // namespace

Result<Dataset> parse_dataset(std::string_view content, const std::string& file, const Preset* preset,
                              const ColumnNames& wanted) {
  const auto rows = parse_rows(content, file);
  if (!rows) return tl::unexpected(rows.error());
  const auto columns = find_columns(rows->front(), file, preset, wanted);
  if (!columns) return tl::unexpected(columns.error());
  Dataset dataset;
  dataset.name = preset != nullptr ? std::string(preset->name) : std::filesystem::path(file).stem().string();
  dataset.file = file;
  dataset.kind = columns->kind;
  dataset.taken = describe(*columns);
  std::map<std::string, std::string> seen;  // id and where it stands
  std::size_t number = 0;
  for (const auto& row : *rows) {
    ++number;
    if (!wanted_row(row, wanted.only)) continue;
    auto problem = read_problem(row, number, *columns);
    if (!problem) return tl::unexpected(problem.error());
    if (const auto [other, is_new] = seen.emplace(problem->id, row.where); !is_new) {
      return bad_row(row, fmt::format("the id {} stands in {} already", in_quotes(problem->id), other->second),
                     "make the ids unique, or name another column with --id-column");
    }
    dataset.problems.push_back(std::move(*problem));
  }
  if (dataset.problems.empty()) {
    return fail(ErrorKind::usage,
                fmt::format("none of the {} rows of {} has the values that --only asks for", rows->size(), file),
                "ask for values that occur");
  }
  dataset.hash = hash_of(dataset.problems);
  return dataset;
}

Result<Dataset> read_dataset(const std::string& file, const Preset* preset, const ColumnNames& columns) {
  const auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  return parse_dataset(*content, file, preset, columns);
}

}  // namespace relaygen::eval
