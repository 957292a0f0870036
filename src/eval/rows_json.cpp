#include <fmt/core.h>

#include "eval/rows.h"

namespace relaygen::eval {
namespace {

// A parsed value, or what stood in the way.
OrderedJson parse(std::string_view text, std::string& problem, std::size_t& byte) {
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::parse_error& error) {
    byte = error.byte;
    problem = "it is no valid JSON";
  } catch (const OrderedJson::exception&) {
    problem = "its JSON holds a number that is too large";
  }
  return nullptr;
}

// The array of an object that holds the rows under some name.
const OrderedJson* array_in(const OrderedJson& object) {
  for (const char* key : {"rows", "data", "problems", "examples", "questions", "test", "train"}) {
    if (object.contains(key) && object[key].is_array()) return &object[key];
  }
  const OrderedJson* only = nullptr;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_array() || value.empty() || !value.front().is_object()) continue;
    if (only != nullptr) return nullptr;
    only = &value;
  }
  return only;
}

}  // namespace

Result<std::vector<Row>> parse_json_lines(std::string_view content, const std::string& source) {
  std::vector<Row> rows;
  for (std::size_t number = 1; !content.empty(); ++number) {
    const auto end = content.find('\n');
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string problem;
    std::size_t byte = 0;
    auto object = parse(line, problem, byte);
    const std::string where = fmt::format("{}, line {}", source, number);
    if (problem.empty() && !object.is_object()) problem = "it is no JSON object";
    if (!problem.empty()) {
      return fail(ErrorKind::bad_input, fmt::format("{}: {}", where, problem),
                  "give one JSON object a line, in one line");
    }
    rows.push_back({std::move(object), where});
  }
  return rows;
}

Result<std::vector<Row>> parse_json_array(std::string_view content, const std::string& source) {
  std::string problem;
  std::size_t byte = 0;
  const auto whole = parse(content, problem, byte);
  if (!problem.empty()) {
    const auto line = 1 + std::count(content.begin(), content.begin() + std::min(byte, content.size()), '\n');
    return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {}", source, line, problem),
                "give an array of objects, or one object a line in a file that ends in .jsonl");
  }
  const OrderedJson* array = whole.is_array() ? &whole : whole.is_object() ? array_in(whole) : nullptr;
  std::vector<Row> rows;
  if (array == nullptr && whole.is_object() && !whole.empty()) {  // a file of one problem
    rows.push_back({whole, fmt::format("{}, row 1", source)});
    return rows;
  }
  if (array == nullptr) {
    return fail(ErrorKind::bad_input, fmt::format("{} holds no array of objects", source),
                "give an array of objects, or an object that holds one");
  }
  for (const auto& element : *array) {
    const std::string where = fmt::format("{}, row {}", source, rows.size() + 1);
    const bool wrapped = element.is_object() && element.contains("row") && element["row"].is_object();
    const OrderedJson& object = wrapped ? element["row"] : element;
    if (!object.is_object())
      return fail(ErrorKind::bad_input, fmt::format("{}: it is no JSON object", where), "give an array of objects");
    rows.push_back({object, where});
  }
  return rows;
}

}  // namespace relaygen::eval
