// Which column of a dataset holds what, and its values. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/dataset.h"
#include "eval/rows.h"

namespace relaygen::eval {

/// Columns as they are called in the file.
struct FoundColumns {
  std::string question{};
  std::optional<std::string> answer{};
  bool answer_is_solution = false;  ///< the answer is the last \boxed{...} of a worked solution
  std::optional<std::string> id{};
  std::vector<std::string> options{}, wrong{};
  AnswerKind kind = AnswerKind::math;
};

/// Looks at the columns of the first row. Errors: usage for a named column that is missing, bad_input where no column
/// can be the question or an answer is needed and missing; both list the columns that are there.
[[nodiscard]] Result<FoundColumns> find_columns(const Row& first, const std::string& file, const Preset* preset,
                                                const ColumnNames& wanted);

/// "question from 'problem', answer from 'answer', ids from 'unique_id'".
[[nodiscard]] std::string describe(const FoundColumns& columns);

/// The text of a column: strings as they are, numbers as they are written; nothing for null, lists and objects.
[[nodiscard]] std::optional<std::string> text_of(const Row& row, const std::string& column);

}  // namespace relaygen::eval
