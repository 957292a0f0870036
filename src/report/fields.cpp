#include "report/fields.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "core/unicode.h"

namespace relaygen::report {

const OrderedJson& field(const OrderedJson& json, const char* key) {
  static const OrderedJson kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

const OrderedJson& list(const OrderedJson& json, const char* key) {
  static const OrderedJson kEmpty = OrderedJson::array();
  const OrderedJson& found = field(json, key);
  return found.is_array() ? found : kEmpty;
}

std::string text(const OrderedJson& json, const char* key) {
  const OrderedJson& found = field(json, key);
  return found.is_string() ? valid_utf8(found.get_ref<const std::string&>()) : std::string();
}

std::optional<double> number(const OrderedJson& json) {
  if (!json.is_number()) return std::nullopt;
  const double value = json.get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> number(const OrderedJson& json, const char* key) { return number(field(json, key)); }

Interval interval(const OrderedJson& json, const char* key) {
  const OrderedJson& found = field(json, key);
  return {number(found, "value"), number(found, "low"), number(found, "high")};
}

bool is_selected(const OrderedJson& cue) {
  const OrderedJson& found = field(cue, "selected");
  return found.is_boolean() && found.get<bool>();
}

std::string valid_utf8(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const unicode::Decoded first = unicode::decode(bytes);
    const std::size_t size = first.size == 0 ? bytes.size() : first.size;  // 0: a character that was cut off
    const bool valid = first.size != 0 && first.character != unicode::kInvalid;
    result += valid ? bytes.substr(0, size) : std::string_view("\uFFFD");
    bytes.remove_prefix(size);
  }
  return result;
}

std::string digits(double value, int decimal) {
  // An exact tie goes up, as it does in the browser; fmt alone makes 31.2 of 31.25.
  double size = std::abs(value);
  const double scale = std::pow(10.0, decimal);
  const double scaled = size * scale;
  const bool is_tie = scaled - std::floor(scaled) == 0.5 && std::fma(size, scale, -scaled) == 0;
  if (is_tie) size = std::nextafter(size, std::numeric_limits<double>::max());
  std::string result = fmt::format("{:.{}f}", size, decimal);
  const bool is_zero = result.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !is_zero ? "\u2212" + result : result;
}

std::string percent(double fraction) { return digits(100 * fraction, 1) + "%"; }

std::string points(double fraction) {
  std::string result = digits(100 * fraction, 1);
  return fraction > 0 && result != "0.0" ? "+" + result : result;
}

std::string times(double ratio) { return digits(ratio, std::abs(ratio) < 9.995 ? 2 : 1) + "\u00D7"; }

std::string duration(double seconds) {
  const double size = std::abs(seconds);
  if (size < 0.9995) {
    const double milliseconds = 1e3 * size;
    return digits(1e3 * seconds, milliseconds < 9.995 ? 2 : milliseconds < 99.95 ? 1 : 0) + " ms";
  }
  if (size < 99.95) return digits(seconds, size < 9.995 ? 2 : 1) + " s";
  if (size < 5970) return digits(seconds / 60, 1) + " min";
  return digits(seconds / 3600, 1) + " h";
}

std::string count(double value) {
  std::string result = digits(value, 0);
  const std::size_t first = result.find_first_of("0123456789");
  for (std::size_t i = result.size(); i > first + 3;) {
    i -= 3;
    result.insert(i, ",");
  }
  return result;
}

}  // namespace relaygen::report
