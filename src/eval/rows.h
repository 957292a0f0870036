// Rows of a dataset's file, whatever its format. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/completion_json.h"
#include "relaygen/error.h"

namespace relaygen::eval {

/// One row: an object of named columns (all strings, where it comes from CSV), and where it stands.
struct Row {
  OrderedJson columns{};
  std::string where{};  ///< "data.csv, line 7"
};

/// Reads JSONL (one object a line), JSON (an array of objects, or an object that holds one) or CSV with a header, told
/// apart by the name's ending and the first character. A byte order mark and CRLF are taken as they are meant.
/// Errors: bad_input naming the line, or the element of an array.
[[nodiscard]] Result<std::vector<Row>> parse_rows(std::string_view content, const std::string& source);

/// A value in quotes for a message: on one line, and not too long.
[[nodiscard]] std::string in_quotes(std::string_view value);

/// The three formats one by one.
[[nodiscard]] Result<std::vector<Row>> parse_json_lines(std::string_view content, const std::string& source);
[[nodiscard]] Result<std::vector<Row>> parse_json_array(std::string_view content, const std::string& source);
[[nodiscard]] Result<std::vector<Row>> parse_csv(std::string_view content, const std::string& source, char delimiter);

}  // namespace relaygen::eval
