// Numbers as people and LaTeX write them. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relaygen::eval {

/// Whether a bare comma before three digits may separate thousands. Inside brackets it separates elements.
enum class Commas : std::uint8_t { may_group, separate };

struct Numeral {
  std::size_t size = 0;    ///< bytes read
  std::string digits;      ///< canonical: "1234.5"; no leading zeros, no trailing zeros behind the point
  std::string exponent{};  ///< of "1.5e-3": "-3"; empty where there is none
  bool plain = true;       ///< digits only: a whole number
};

/// The number that `text` begins with: digits, a point, thousands separated by "," "{,}" "\," ",\!" or a blank, an
/// exponent. Requires that it begins with a digit, or with a point and a digit.
[[nodiscard]] Numeral read_numeral(std::string_view text, Commas commas);

[[nodiscard]] std::string canonical_digits(std::string_view digits);

}  // namespace relaygen::eval
