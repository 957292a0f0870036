// Settings in a table settings(key TEXT PRIMARY KEY, value TEXT): what defines the contents of a file, so that a later
// run with other settings is told before it mixes things up. Internal.
#pragma once

#include <optional>
#include <string>

#include "io/completion_json.h"
#include "io/database.h"

namespace relaygen {

/// The first leaf in which two settings differ, as "sampling.temperature", with both values for people.
struct SettingDifference {
  std::string name;
  std::string recorded, given;
};
[[nodiscard]] std::optional<SettingDifference> first_difference(const OrderedJson& recorded, const OrderedJson& given,
                                                                const std::string& name = "");

/// A value for people: texts in quotes, long ones cut.
[[nodiscard]] std::string shown(const OrderedJson& value);

/// The error of a difference. `whose` is empty, or says more of the setting: " for relay".
[[nodiscard]] Status differs(const OpenedFile& file, const SettingDifference& difference, const std::string& whose);

/// Null where nothing is recorded under the key.
[[nodiscard]] Result<OrderedJson> read_setting(OpenedFile& file, const std::string& key);
/// In place of what was there.
[[nodiscard]] Status record_setting(OpenedFile& file, const std::string& key, const OrderedJson& value);
/// Records settings under a key, or compares them with what is recorded there. Errors: usage, naming the first setting
/// that differs, with both values.
[[nodiscard]] Status settle_setting(OpenedFile& file, const std::string& key, const OrderedJson& given,
                                    const std::string& whose);

}  // namespace relaygen
