#include "io/settings.h"

#include <fmt/core.h>

namespace relaygen {

std::string shown(const OrderedJson& value) {
  std::string text = value.is_string() ? value.get<std::string>() : to_line(value);
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return value.is_string() ? "'" + text + "'" : text;
}

std::optional<SettingDifference> first_difference(const OrderedJson& recorded, const OrderedJson& given,
                                                  const std::string& name) {
  if (recorded == given) return std::nullopt;
  if (recorded.is_object() && given.is_object()) {
    for (const auto* side : {&recorded, &given}) {
      for (const auto& [key, value] : side->items()) {
        const OrderedJson none;
        const auto& a = recorded.contains(key) ? recorded[key] : none;
        const auto& b = given.contains(key) ? given[key] : none;
        if (auto found = first_difference(a, b, name.empty() ? key : fmt::format("{}.{}", name, key))) return found;
      }
    }
    return std::nullopt;  // the order of keys alone
  }
  return SettingDifference{name, shown(recorded), shown(given)};
}

Status differs(const OpenedFile& file, const SettingDifference& difference, const std::string& whose) {
  return fail(ErrorKind::usage,
              fmt::format("{} was begun with {} {}{}, and this run has {}", file.name, difference.name,
                          difference.recorded, whose, difference.given),
              "give the same flags, or another file with --db");
}

Result<OrderedJson> read_setting(OpenedFile& file, const std::string& key) {
  return with_database(file, [&](SQLite::Database& database) -> Result<OrderedJson> {
    SQLite::Statement select(database, "SELECT value FROM settings WHERE key = ?");
    select.bind(1, key);
    if (!select.executeStep()) return OrderedJson(nullptr);
    return OrderedJson::parse(select.getColumn(0).getString(), nullptr, false);
  });
}

Status record_setting(OpenedFile& file, const std::string& key, const OrderedJson& value) {
  return with_database(file, [&](SQLite::Database& database) -> Status {
    SQLite::Statement insert(database, "INSERT OR REPLACE INTO settings VALUES (?, ?)");
    insert.bind(1, key);
    insert.bind(2, to_line(value));
    insert.exec();
    return std::monostate{};
  });
}

Status settle_setting(OpenedFile& file, const std::string& key, const OrderedJson& given, const std::string& whose) {
  const auto recorded = read_setting(file, key);
  if (!recorded) return tl::unexpected(recorded.error());
  if (recorded->is_null()) return record_setting(file, key, given);
  const auto difference = first_difference(*recorded, OrderedJson::parse(to_line(given)));
  return difference ? differs(file, *difference, whose) : Status(std::monostate{});
}

}  // namespace relaygen
