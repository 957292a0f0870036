// relaygen grade: whether answers are right. No model.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/session.h"
#include "eval/grading.h"
#include "io/completion_json.h"
#include "io/files.h"

namespace relaygen::cli {
namespace {

using eval::AnswerKind;
using eval::Verdict;

constexpr std::string_view kThinkingBegin = "<think>";
constexpr std::string_view kThinkingEnd = "</think>";

// A line of the file: a bare answer to compare, or a whole text to grade.
struct Task {
  std::optional<std::string> given, response;
  std::string expected;
  AnswerKind kind = AnswerKind::math;
  std::size_t options = 0;
};

struct Summary {
  std::uint64_t pairs = 0, same = 0, texts = 0, right = 0, no_answer = 0, unfinished = 0, ungraded = 0;
};

std::optional<AnswerKind> answer_kind(std::string_view name) {
  if (name == "math") return AnswerKind::math;
  if (name == "choice") return AnswerKind::choice;
  if (name == "none") return AnswerKind::none;
  return std::nullopt;
}

std::optional<std::string> string_field(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

// Answers may also be numbers.
std::optional<std::string> answer_field(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number()) return found->dump();
  return string_field(object, key);
}

Result<Task> parse_task(std::string_view line, const std::string& place) {
  const auto bad = [&](std::string_view what, std::string_view hint) {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", place, what), std::string(hint));
  };
  const OrderedJson object = OrderedJson::parse(line, nullptr, false);
  if (object.is_discarded() || !object.is_object()) return bad("no valid JSON object", "give one JSON object a line");
  Task task;
  task.given = answer_field(object, "given");
  task.response = string_field(object, "response");
  if (task.given.has_value() == task.response.has_value())
    return bad(task.given ? R"(both "given" and "response")" : R"(neither "given" nor "response")",
               R"(give each object a "given" answer, or a "response" with the whole text)");
  if (object.contains("kind")) {
    const auto kind = answer_kind(string_field(object, "kind").value_or(""));
    if (!kind) return bad("there is no such \"kind\"", "choose one of math, choice, none");
    task.kind = *kind;
  }
  auto expected = answer_field(object, "expected");
  if (!expected && task.kind != AnswerKind::none)
    return bad("no \"expected\" answer", "give each object an \"expected\"");
  task.expected = std::move(expected).value_or("");
  if (const auto options = object.find("options"); options != object.end()) {
    if (!options->is_number_unsigned()) return bad("\"options\" is no number", "give the number of options");
    task.options = options->get<std::size_t>();
  }
  return task;
}

OrderedJson compare(const Task& task, Summary& summary) {
  const bool same = task.kind == AnswerKind::math
                        ? eval::equivalent(*task.given, task.expected)
                        : is_right(eval::grade(*task.given, true, task.expected, task.kind, task.options).verdict);
  ++summary.pairs;
  if (same) ++summary.same;
  return {{"same", same}};
}

OrderedJson grade_text(const Task& task, Summary& summary) {
  std::string_view text = *task.response;
  const auto end = text.rfind(kThinkingEnd);
  const bool finished = end != std::string_view::npos || text.find(kThinkingBegin) == std::string_view::npos;
  if (end != std::string_view::npos) text.remove_prefix(end + kThinkingEnd.size());
  const eval::Grade grade = eval::grade(text, finished, task.expected, task.kind, task.options);
  ++summary.texts;
  if (is_right(grade.verdict)) ++summary.right;
  if (grade.verdict == Verdict::no_answer) ++summary.no_answer;
  if (grade.verdict == Verdict::unfinished) ++summary.unfinished;
  if (grade.verdict == Verdict::ungraded) ++summary.ungraded;
  return {{"verdict", name(grade.verdict)}, {"answer", grade.answer}};
}

Result<int> grade_file(const std::string& file) {
  auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  const std::string source = file == "-" ? "standard input" : file;
  std::string_view rest = *content;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);  // a byte order mark is no part of the text
  std::vector<Task> tasks;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto task = parse_task(line, fmt::format("{}, line {}", source, number));
    if (!task) return tl::unexpected(task.error());
    tasks.push_back(std::move(*task));
  }
  if (tasks.empty()) return fail(ErrorKind::bad_input, source + " holds no answers", "give one JSON object a line");
  Summary summary;
  for (const Task& task : tasks) {
    out("{}\n", to_line(task.given ? compare(task, summary) : grade_text(task, summary)));
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  if (summary.pairs > 0) note("{} of {} pairs are the same\n", summary.same, summary.pairs);
  if (summary.texts > 0) {
    note("{} of {} texts are right; {} without an answer, {} unfinished, {} not graded\n", summary.right, summary.texts,
         summary.no_answer, summary.unfinished, summary.ungraded);
  }
  return 0;
}

}  // namespace

void add_grade_command(CLI::App& app, int& code) {
  auto file = std::make_shared<std::string>("-");
  CLI::App* command = app.add_subcommand("grade", "say which answers are right, without a model");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("FILE", *file,
                      "JSONL: \"given\" (a bare answer) or \"response\" (a whole text), and \"expected\" (default: "
                      "standard input)");
  command->callback([file, &code] {
    auto result = grade_file(*file);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
