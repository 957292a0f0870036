// Reading report data that may lack anything, and numbers as people read them. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/completion_json.h"

namespace relaygen::report {

/// The member of an object; null where there is none or `json` is no object.
[[nodiscard]] const OrderedJson& field(const OrderedJson& json, const char* key);

/// The elements of an array; empty for anything else.
[[nodiscard]] const OrderedJson& list(const OrderedJson& json, const char* key);

/// A text in valid UTF-8; empty where there is none.
[[nodiscard]] std::string text(const OrderedJson& json, const char* key);

/// A finite number.
[[nodiscard]] std::optional<double> number(const OrderedJson& json);
[[nodiscard]] std::optional<double> number(const OrderedJson& json, const char* key);

/// {"value", "low", "high"}
struct Interval {
  std::optional<double> value, low, high;
};
[[nodiscard]] Interval interval(const OrderedJson& json, const char* key);

/// Whether a candidate of a calibration is a cue.
[[nodiscard]] bool is_selected(const OrderedJson& cue);

/// Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

[[nodiscard]] std::string percent(double fraction);           ///< 92.9%
[[nodiscard]] std::string points(double fraction);            ///< +0.3 (percentage points; U+2212 for minus)
[[nodiscard]] std::string times(double ratio);                ///< 1.29×
[[nodiscard]] std::string duration(double seconds);           ///< 312 ms, 12.3 s, 4.1 min
[[nodiscard]] std::string count(double value);                ///< 12,345
[[nodiscard]] std::string digits(double value, int decimal);  ///< a number with so many decimals, U+2212 for minus

}  // namespace relaygen::report
