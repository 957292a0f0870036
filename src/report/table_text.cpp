#include "report/table_text.h"

#include <fmt/core.h>

#include <utility>

namespace relaygen::report {
namespace {

std::string in_quotes(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

// A text of the data: never a formula to a spreadsheet.
std::string csv_text(std::string text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos) text.insert(0, 1, '\'');
  return in_quotes(text);
}

std::string csv_number(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

std::string line(const std::vector<std::string>& cells) {
  std::string result;
  for (std::size_t i = 0; i < cells.size(); ++i) result += (i == 0 ? "" : ",") + cells[i];
  return result + "\r\n";
}

}  // namespace

std::string plain(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_[]<>|&~$#";
  std::string result;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      result += ' ';
      continue;
    }
    if (kSpecial.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string cell(std::optional<double> value, Format format) { return value ? format(*value) : "\u2013"; }

std::string cell(const Interval& interval, Format format) {
  if (!interval.value) return "\u2013";
  if (!interval.low || !interval.high) return format(*interval.value);
  return fmt::format("{} ({} to {})", format(*interval.value), format(*interval.low), format(*interval.high));
}

MarkdownColumn estimate_column(const char* name, const char* key, Format format) {
  return {name, [=](const OrderedJson& row) { return cell(interval(row, key), format); }};
}

MarkdownColumn number_column(const char* name, const char* key, Format format) {
  return {name, [=](const OrderedJson& row) { return cell(number(row, key), format); }};
}

std::string markdown_table(const OrderedJson& rows, const std::vector<MarkdownColumn>& columns) {
  std::string result = "|";
  for (const MarkdownColumn& column : columns) result += fmt::format(" {} |", column.name);
  result += "\n|";
  for (std::size_t i = 0; i < columns.size(); ++i) result += i == 0 ? "---|" : "---:|";
  result += "\n";
  for (const OrderedJson& row : rows) {
    result += "|";
    for (const MarkdownColumn& column : columns) result += fmt::format(" {} |", column.cell(row));
    result += "\n";
  }
  return result;
}

void CsvTable::add(const std::string& column, std::string value) {
  if (rows_.size() == 1) columns_.push_back(column);
  rows_.back().push_back(std::move(value));
}

void CsvTable::add_text(const std::string& column, const OrderedJson& json, const char* key) {
  add(column, csv_text(text(json, key)));
}

void CsvTable::add_number(const std::string& column, const OrderedJson& json, const char* key) {
  add(column, csv_number(number(json, key)));
}

void CsvTable::add_estimate(const std::string& column, const OrderedJson& json, const char* key) {
  const Interval estimate = interval(json, key);
  add(column, csv_number(estimate.value));
  add(column + "_low", csv_number(estimate.low));
  add(column + "_high", csv_number(estimate.high));
}

std::string CsvTable::text_of() const {
  if (rows_.empty()) return "";
  std::string result = line(columns_);
  for (const auto& row : rows_) result += line(row);
  return result;
}

}  // namespace relaygen::report
