#include "eval/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/unicode.h"

namespace relaygen::eval {
namespace {

// The line of the first byte that is no UTF-8.
Status check_lines(std::string_view content, const std::string& source) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < content.size();) {
    const auto next = unicode::decode(content.substr(i));
    if (next.character == unicode::kInvalid) {
      return fail(
          ErrorKind::bad_input,
          fmt::format("{}, line {}: byte 0x{:02x} is not UTF-8", source, line, static_cast<unsigned char>(content[i])),
          "convert the file, for example with iconv -t UTF-8");
    }
    if (content[i] == '\n') ++line;
    i += next.size;
  }
  return std::monostate{};
}

std::string ending_of(const std::string& source) {
  std::string ending = std::filesystem::path(source).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

Result<std::vector<Row>> parse_any(std::string_view content, const std::string& source, char first) {
  const std::string ending = ending_of(source);
  if (ending == ".csv") return parse_csv(content, source, ',');
  if (ending == ".tsv") return parse_csv(content, source, '\t');
  if (first == '[') return parse_json_array(content, source);
  if (first == '{') {  // one object over several lines holds an array, one object a line is JSONL
    const std::string_view line = content.substr(0, content.find('\n'));
    const bool whole_object_in_line = OrderedJson::accept(line);
    const bool more = content.find_first_not_of(" \t\r\n", line.size()) != std::string_view::npos;
    if (ending == ".jsonl" || ending == ".ndjson" || (whole_object_in_line && more))
      return parse_json_lines(content, source);
    return parse_json_array(content, source);
  }
  if (ending == ".jsonl" || ending == ".ndjson") return parse_json_lines(content, source);
  if (ending == ".json") return parse_json_array(content, source);
  return parse_csv(content, source, ',');
}

}  // namespace

std::string in_quotes(std::string_view value) {
  constexpr std::size_t kMost = 60;
  std::string text(value.substr(0, kMost));
  while (!text.empty() && value.size() > kMost && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
    text.pop_back();  // not in the middle of a character
  if (value.size() > kMost) {
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
    text += "...";
  }
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return "'" + text + "'";
}

Result<std::vector<Row>> parse_rows(std::string_view content, const std::string& source) {
  if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
  if (auto ok = check_lines(content, source); !ok) return tl::unexpected(ok.error());
  const auto first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return fail(ErrorKind::bad_input, fmt::format("{} is empty", source), "give a file with one problem a row");
  auto rows = parse_any(content, source, content[first]);
  if (rows && rows->empty()) {
    return fail(ErrorKind::bad_input, fmt::format("{} holds no problems", source),
                "give a file with one problem a row");
  }
  return rows;
}

}  // namespace relaygen::eval
