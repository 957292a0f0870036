// Tables as text: GitHub's Markdown, and CSV as in RFC 4180. Internal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/fields.h"

namespace relaygen::report {

using Format = std::string (*)(double);

/// One line in which no character has a meaning to Markdown or HTML.
[[nodiscard]] std::string plain(std::string_view text);

/// A number with its interval in parentheses, where it has one; a dash where there is none.
[[nodiscard]] std::string cell(std::optional<double> value, Format format);
[[nodiscard]] std::string cell(const Interval& interval, Format format);

struct MarkdownColumn {
  const char* name;
  std::function<std::string(const OrderedJson&)> cell;  ///< of a row
};
[[nodiscard]] MarkdownColumn estimate_column(const char* name, const char* key, Format format);
[[nodiscard]] MarkdownColumn number_column(const char* name, const char* key, Format format);

/// One line for each element of `rows`, the first column to the left and the others to the right.
[[nodiscard]] std::string markdown_table(const OrderedJson& rows, const std::vector<MarkdownColumn>& columns);

/// Numbers have full precision; texts of the data never are a formula to a spreadsheet. All rows add the same columns.
class CsvTable {
 public:
  /// A new row; the cells that follow are its.
  void begin_row() { rows_.emplace_back(); }

  void add(const std::string& column, std::string value);
  void add_text(const std::string& column, const OrderedJson& json, const char* key);
  void add_number(const std::string& column, const OrderedJson& json, const char* key);
  void add_estimate(const std::string& column, const OrderedJson& json, const char* key);  ///< with _low and _high

  /// Empty without rows.
  [[nodiscard]] std::string text_of() const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace relaygen::report
