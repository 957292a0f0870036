#include <csv.h>
#include <fmt/core.h>

#include <memory>
#include <set>

#include "eval/rows.h"

namespace relaygen::eval {
namespace {

// What libcsv's callbacks fill. They are called from C and must not throw: bad_alloc is remembered.
struct Table {
  std::string source;
  std::vector<std::string> header;
  std::vector<Row> rows;
  std::vector<std::string> fields;  // of the row that is being read
  std::size_t line = 0;             // that is being fed
  std::size_t row_line = 0;         // where the row began; 0: none is open
  std::optional<Error> error;

  void end_field(std::string_view text) { fields.emplace_back(text); }

  void end_row() {
    const std::string where = fmt::format("{}, line {}", source, row_line);
    row_line = 0;
    const auto row = std::exchange(fields, {});
    if (error) return;
    if (header.empty()) {
      header = row;
      check_header(where);
      return;
    }
    if (row.size() == 1 && row.front().empty()) return;  // a line of blanks
    if (row.size() != header.size()) {
      error = Error{ErrorKind::bad_input,
                    fmt::format("{}: the row has {} {} and the header has {}", where, row.size(),
                                row.size() == 1 ? "field" : "fields", header.size()),
                    "put fields that hold a comma, a quote or a line break into double quotes"};
      return;
    }
    OrderedJson columns = OrderedJson::object();
    for (std::size_t i = 0; i < row.size(); ++i) columns[header[i]] = row[i];
    rows.push_back({std::move(columns), where});
  }

  void check_header(const std::string& where) {
    std::set<std::string> seen;
    for (const auto& name : header) {
      if (seen.insert(name).second || name.empty()) continue;
      error = Error{ErrorKind::bad_input, fmt::format("{}: there are two columns {}", where, in_quotes(name)),
                    "give each column a name of its own"};
    }
  }
};

template <typename Step>
void guarded(void* data, Step step) {
  auto& table = *static_cast<Table*>(data);
  try {
    step(table);
  } catch (const std::exception&) {
    table.error = Error{ErrorKind::out_of_memory, "an allocation failed", "free memory"};
  }
}

extern "C" {
void relaygen_csv_field(void* text, std::size_t size, void* data) {
  guarded(data, [&](Table& table) { table.end_field({static_cast<const char*>(text), size}); });
}
void relaygen_csv_row(int, void* data) {
  guarded(data, [](Table& table) { table.end_row(); });
}
}

}  // namespace

Result<std::vector<Row>> parse_csv(std::string_view content, const std::string& source, char delimiter) {
  csv_parser parser = {};
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
    return fail(ErrorKind::out_of_memory, "an allocation failed", "free memory");
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> owner(&parser, csv_free);
  csv_set_delim(&parser, static_cast<unsigned char>(delimiter));
  Table table;
  table.source = source;
  const auto malformed = [&](std::size_t line, const char* what) {
    return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {}", source, line, what),
                "put the field into double quotes, and write a quote inside it twice");
  };
  while (!content.empty() && !table.error) {  // by lines, so that errors can name theirs
    const auto end = content.find('\n');
    const std::string_view line = content.substr(0, end == std::string_view::npos ? content.size() : end + 1);
    content.remove_prefix(line.size());
    ++table.line;
    const bool row_begins = table.row_line == 0;
    if (row_begins) table.row_line = table.line;
    if (csv_parse(&parser, line.data(), line.size(), relaygen_csv_field, relaygen_csv_row, &table) != line.size())
      return malformed(table.line, "a quote stands inside a field that is not quoted");
    if (row_begins && line.find_first_not_of(" \t\r\n") == std::string_view::npos) table.row_line = 0;
  }
  const std::size_t open_line = table.row_line;
  if (!table.error && csv_fini(&parser, relaygen_csv_field, relaygen_csv_row, &table) != 0)
    return malformed(open_line, "the quotes of a field are not closed");
  if (table.error) return tl::unexpected(*table.error);
  return std::move(table.rows);
}

}  // namespace relaygen::eval
