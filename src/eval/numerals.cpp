#include "eval/numerals.h"

#include <algorithm>
#include <array>

namespace relaygen::eval {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count])) ++count;
  return count;
}

// The size of the separator at `at` if a group of exactly three digits follows it.
std::size_t separator_at(std::string_view text, std::size_t at, std::string_view separator) {
  if (!text.substr(at).starts_with(separator)) return 0;
  std::size_t size = separator.size();
  if (separator.size() > 1) {
    while (at + size < text.size() && text[at + size] == ' ') ++size;
  }
  return digits_at(text, at + size) == 3 ? size : 0;
}

constexpr std::array<std::string_view, 9> kSeparators = {"{,}",      ",\\!",         ",\\,",         "\\,", "\\!",
                                                         "\xC2\xA0", "\xE2\x80\x89", "\xE2\x80\xAF", ","};

// The whole part with its groups. Returns how many bytes it read.
std::size_t read_groups(std::string_view text, Commas commas, std::string& digits) {
  std::size_t at = digits_at(text, 0);
  digits = text.substr(0, at);
  if (at == 0 || at > 3 || text[0] == '0') return at;
  for (const std::string_view separator : kSeparators) {
    if (separator == "," && commas == Commas::separate) continue;
    std::size_t end = at;
    std::string grouped = digits;
    while (const std::size_t size = separator_at(text, end, separator)) {
      grouped += text.substr(end + size, 3);
      end += size + 3;
    }
    if (end == at) continue;
    // "1,234,5" is a list.
    if (separator == "," && end + 1 < text.size() && text[end] == ',' && is_digit(text[end + 1])) continue;
    digits = std::move(grouped);
    return end;
  }
  // Blanks: only if nothing but such groups follows.
  std::size_t end = at;
  std::string grouped = digits;
  while (const std::size_t size = commas == Commas::may_group ? separator_at(text, end, " ") : 0) {
    grouped += text.substr(end + size, 3);
    end += size + 3;
  }
  if (end == at || (end < text.size() && (text[end] == ' ' || text[end] == '/'))) return at;
  digits = std::move(grouped);
  return end;
}

std::size_t read_exponent(std::string_view text, std::size_t at, std::string& exponent) {
  if (at >= text.size() || (text[at] != 'e' && text[at] != 'E')) return 0;
  std::size_t begin = at + 1;
  if (begin < text.size() && (text[begin] == '-' || text[begin] == '+')) ++begin;
  const std::size_t count = digits_at(text, begin);
  if (count == 0 || count > 6) return 0;
  exponent = text.substr(at + 1, begin + count - at - 1);
  return begin + count - at;
}

}  // namespace

std::string canonical_digits(std::string_view digits) {
  std::string_view whole = digits.substr(0, digits.find('.'));
  std::string_view decimals = whole.size() < digits.size() ? digits.substr(whole.size() + 1) : std::string_view{};
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  const auto last = decimals.find_last_not_of('0');
  decimals = decimals.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string result(whole.empty() ? std::string_view("0") : whole);
  if (!decimals.empty()) result.append(".").append(decimals);
  return result;
}

Numeral read_numeral(std::string_view text, Commas commas) {
  Numeral numeral;
  numeral.size = read_groups(text, commas, numeral.digits);
  if (numeral.size < text.size() && text[numeral.size] == '.') {
    const std::size_t decimals = digits_at(text, numeral.size + 1);
    const std::string_view rest = text.substr(numeral.size + 1);
    if (decimals > 0 || rest.starts_with("\\overline") || rest.starts_with("\\dot")) {
      numeral.digits += text.substr(numeral.size, decimals + 1);
      numeral.size += decimals + 1;
      numeral.plain = false;
    }
  }
  numeral.digits = canonical_digits(numeral.digits);
  numeral.size += read_exponent(text, numeral.size, numeral.exponent);
  numeral.plain = numeral.plain && numeral.exponent.empty();
  return numeral;
}

}  // namespace relaygen::eval
