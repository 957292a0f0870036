// Datasets as they are published, and one's own: a file becomes a list of problems. Nothing is downloaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/grading.h"
#include "relaygen/error.h"

namespace relaygen::eval {

struct Problem {
  std::string id{};
  std::string question{};
  std::string expected{};  ///< for choice the letter of the right option
  AnswerKind kind = AnswerKind::math;
  std::vector<std::string> options{};  ///< for choice, in the order in which they are shown
};

/// "math", "choice", "none".
[[nodiscard]] std::string_view name(AnswerKind kind);
[[nodiscard]] std::optional<AnswerKind> answer_kind(std::string_view name);

/// Which columns hold what. An empty field is looked for under the usual names.
struct ColumnNames {
  std::string question{}, answer{}, id{};
  std::vector<std::string> options{};  ///< one column that holds a list, or one column an option
  std::vector<std::string> wrong{};    ///< columns of wrong options, which are shuffled together with the answer
  struct Only {
    std::string column{};
    std::vector<std::string> values{};
  };
  std::vector<Only> only{};  ///< rows count only where each of these columns has one of its values
};

struct Dataset {
  std::string name{};
  std::string file{};
  std::string taken{};  ///< which columns were taken for what, for people
  std::string hash{};   ///< over ids, questions, options and expected answers of all problems
  AnswerKind kind = AnswerKind::math;
  std::vector<Problem> problems{};
};

/// A published dataset whose columns are known.
struct Preset {
  std::string_view name;
  std::string_view published;  ///< what its file is, for people
  AnswerKind kind;
};
[[nodiscard]] std::span<const Preset> presets();
[[nodiscard]] const Preset* find_preset(std::string_view name);

/// Turns the bytes of a file into problems. `preset` may be null: then columns are guessed from their names. Columns
/// that the caller names come first. The options of "wrong" columns are shuffled by a seed from the question, so that
/// their order is the same in each run. Errors: bad_input with file and line or row (malformed, not UTF-8, an empty
/// question, an id that comes twice, an answer that is none of the options), usage (a column that is not there, no row with the values asked for).
[[nodiscard]] Result<Dataset> parse_dataset(std::string_view content, const std::string& file, const Preset* preset,
                                            const ColumnNames& columns);

/// Reads the file, then as parse_dataset.
[[nodiscard]] Result<Dataset> read_dataset(const std::string& file, const Preset* preset, const ColumnNames& columns);

}  // namespace relaygen::eval
