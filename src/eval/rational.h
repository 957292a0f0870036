// Exact fractions of bounded size. Internal.
//
// An answer is compared exactly wherever that is possible: doubles cannot tell 10^20 from 10^20 + 1. Nothing here ever
// holds more than kMaxLimbs limbs; what would need more is "too big", which is a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace relaygen::eval {

inline constexpr std::size_t kMaxLimbs = 64;  // 2048 bits, 616 decimal digits

/// A natural number: limbs of 32 bits, the lowest first, no leading zeros (0 has none).
struct Natural {
  std::vector<std::uint32_t> limbs;

  [[nodiscard]] bool is_zero() const { return limbs.empty(); }
  friend bool operator==(const Natural&, const Natural&) = default;
};

[[nodiscard]] Natural natural(std::uint64_t value);
[[nodiscard]] std::optional<Natural> multiply(const Natural& a, const Natural& b);
[[nodiscard]] std::optional<Natural> add(const Natural& a, const Natural& b);
/// Less than 0, 0, more than 0.
[[nodiscard]] int compare(const Natural& a, const Natural& b);
[[nodiscard]] std::optional<std::uint64_t> to_integer(const Natural& a);

/// Not reduced. The denominator is not 0; 0 is not negative.
struct Rational {
  bool negative = false;
  Natural numerator;
  Natural denominator = natural(1);
};

[[nodiscard]] Rational rational(std::int64_t value);
/// "12", "0.5", "0.1(6)": the digits in brackets repeat for ever. Requires this form. Nothing: too big.
[[nodiscard]] std::optional<Rational> parse_decimal(std::string_view digits);

[[nodiscard]] std::optional<Rational> add(const Rational& a, const Rational& b);
[[nodiscard]] std::optional<Rational> multiply(const Rational& a, const Rational& b);
[[nodiscard]] Rational negate(Rational a);
/// Requires a != 0.
[[nodiscard]] Rational invert(Rational a);
/// Requires a != 0 or exponent >= 0. 0^0 is 1. Nothing: too big.
[[nodiscard]] std::optional<Rational> power(const Rational& a, std::int64_t exponent);
/// Nothing: the products that the comparison needs are too big.
[[nodiscard]] std::optional<bool> equal(const Rational& a, const Rational& b);

/// The fraction in lowest terms, if both parts are small.
struct SmallFraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;  ///< > 0
};
[[nodiscard]] std::optional<SmallFraction> small_fraction(const Rational& a);

}  // namespace relaygen::eval
