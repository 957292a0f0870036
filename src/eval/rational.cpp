#include "eval/rational.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

namespace relaygen::eval {
namespace {

constexpr std::int64_t kMaxExponent = 4096;
constexpr std::size_t kMaxDigits = kMaxLimbs * 32;  // more than fit: the limbs decide

std::optional<Natural> trimmed(std::vector<std::uint32_t> limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
  if (limbs.size() > kMaxLimbs) return std::nullopt;
  return Natural{std::move(limbs)};
}

// Requires a >= b.
Natural subtract(const Natural& a, const Natural& b) {
  std::vector<std::uint32_t> limbs(a.limbs);
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < limbs.size(); ++i) {
    const std::uint64_t taken = borrow + (i < b.limbs.size() ? b.limbs[i] : 0U);
    borrow = limbs[i] < taken ? 1 : 0;
    limbs[i] = static_cast<std::uint32_t>(limbs[i] + (borrow << 32) - taken);
  }
  return *trimmed(std::move(limbs));
}

std::optional<Natural> parse_natural(std::string_view digits) {
  Natural value;
  for (const char digit : digits) {
    auto carry = static_cast<std::uint64_t>(digit - '0');
    for (std::uint32_t& limb : value.limbs) {
      carry += std::uint64_t{limb} * 10;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) value.limbs.push_back(static_cast<std::uint32_t>(carry));
    if (value.limbs.size() > kMaxLimbs) return std::nullopt;
  }
  return value;
}

// Requires a base other than 0 and 1, or a small exponent.
std::optional<Natural> power(Natural base, std::uint64_t exponent) {
  Natural result = natural(1);
  while (exponent != 0) {
    if ((exponent & 1) != 0) {
      const auto product = multiply(result, base);
      if (!product) return std::nullopt;
      result = *product;
    }
    exponent >>= 1;
    if (exponent == 0) break;
    const auto square = multiply(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
  return result;
}

std::optional<Rational> fraction(bool negative, std::optional<Natural> numerator, std::optional<Natural> denominator) {
  if (!numerator || !denominator) return std::nullopt;
  return Rational{negative && !numerator->is_zero(), std::move(*numerator), std::move(*denominator)};
}

}  // namespace

Natural natural(std::uint64_t value) {
  return *trimmed({static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)});
}

std::optional<Natural> multiply(const Natural& a, const Natural& b) {
  if (a.limbs.size() + b.limbs.size() > kMaxLimbs + 1) return std::nullopt;
  std::vector<std::uint32_t> limbs(a.limbs.size() + b.limbs.size());
  for (std::size_t i = 0; i < a.limbs.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.limbs.size(); ++k) {
      carry += std::uint64_t{a.limbs[i]} * b.limbs[k] + limbs[i + k];
      limbs[i + k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    limbs[i + b.limbs.size()] = static_cast<std::uint32_t>(carry);
  }
  return trimmed(std::move(limbs));
}

std::optional<Natural> add(const Natural& a, const Natural& b) {
  std::vector<std::uint32_t> limbs;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.limbs.size(), b.limbs.size()) || carry != 0; ++i) {
    carry += i < a.limbs.size() ? a.limbs[i] : 0U;
    carry += i < b.limbs.size() ? b.limbs[i] : 0U;
    limbs.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  return trimmed(std::move(limbs));
}

int compare(const Natural& a, const Natural& b) {
  if (a.limbs.size() != b.limbs.size()) return a.limbs.size() < b.limbs.size() ? -1 : 1;
  for (std::size_t i = a.limbs.size(); i-- > 0;) {
    if (a.limbs[i] != b.limbs[i]) return a.limbs[i] < b.limbs[i] ? -1 : 1;
  }
  return 0;
}

std::optional<std::uint64_t> to_integer(const Natural& a) {
  if (a.limbs.size() > 2) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = a.limbs.size(); i-- > 0;) value = (value << 32) | a.limbs[i];
  return value;
}

Rational rational(std::int64_t value) {
  const auto magnitude =
      value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  return {value < 0, natural(magnitude), natural(1)};
}

std::optional<Rational> parse_decimal(std::string_view digits) {
  if (digits.size() > kMaxDigits) return std::nullopt;
  std::string whole;   // all digits, without the repeating ones
  std::string period;  // the repeating ones
  std::uint64_t decimals = 0;
  bool fractional = false;
  bool repeating = false;
  for (const char c : digits) {
    if (c == '.') {
      fractional = true;
    } else if (c == '(') {
      repeating = true;
    } else if (c >= '0' && c <= '9') {
      (repeating ? period : whole) += c;
      if (fractional && !repeating) ++decimals;
    }
  }
  auto denominator = power(natural(10), decimals);
  if (period.empty()) return fraction(false, parse_natural(whole), std::move(denominator));
  // 0.ab(cd) = (abcd - ab) / (10^2 * (10^2 - 1))
  const auto all = parse_natural(whole + period);
  const auto before = parse_natural(whole);
  const auto shift = power(natural(10), period.size());
  if (!all || !before || !shift || !denominator) return std::nullopt;
  return fraction(false, subtract(*all, *before), multiply(*denominator, subtract(*shift, natural(1))));
}

std::optional<Rational> add(const Rational& a, const Rational& b) {
  std::optional<Natural> left = a.numerator;
  std::optional<Natural> right = b.numerator;
  std::optional<Natural> denominator = a.denominator;
  if (a.denominator != b.denominator) {
    left = multiply(a.numerator, b.denominator);
    right = multiply(b.numerator, a.denominator);
    denominator = multiply(a.denominator, b.denominator);
  }
  if (!left || !right) return std::nullopt;
  if (a.negative == b.negative) return fraction(a.negative, add(*left, *right), std::move(denominator));
  if (compare(*left, *right) >= 0) return fraction(a.negative, subtract(*left, *right), std::move(denominator));
  return fraction(b.negative, subtract(*right, *left), std::move(denominator));
}

std::optional<Rational> multiply(const Rational& a, const Rational& b) {
  return fraction(a.negative != b.negative, multiply(a.numerator, b.numerator), multiply(a.denominator, b.denominator));
}

Rational negate(Rational a) {
  a.negative = !a.negative && !a.numerator.is_zero();
  return a;
}

Rational invert(Rational a) {
  std::swap(a.numerator, a.denominator);
  return a;
}

std::optional<Rational> power(const Rational& a, std::int64_t exponent) {
  const Natural one = natural(1);
  const bool odd = exponent % 2 != 0;
  if (exponent == 0) return rational(1);
  if (a.numerator.is_zero()) return a;
  if (a.numerator == one && a.denominator == one) return Rational{a.negative && odd, one, one};
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  const auto times = static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent);
  auto result = fraction(a.negative && odd, power(a.numerator, times), power(a.denominator, times));
  if (result && exponent < 0) result = invert(std::move(*result));
  return result;
}

std::optional<bool> equal(const Rational& a, const Rational& b) {
  if (a.negative != b.negative) return false;
  const auto left = multiply(a.numerator, b.denominator);
  const auto right = multiply(b.numerator, a.denominator);
  if (!left || !right) {
    if (a.denominator == b.denominator) return a.numerator == b.numerator;
    return std::nullopt;
  }
  return *left == *right;
}

std::optional<SmallFraction> small_fraction(const Rational& a) {
  const auto numerator = to_integer(a.numerator);
  const auto denominator = to_integer(a.denominator);
  if (!numerator || !denominator) return std::nullopt;
  const std::uint64_t divisor = std::gcd(*numerator, *denominator);
  const std::uint64_t top = *numerator / divisor;
  const std::uint64_t bottom = *denominator / divisor;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  if (top > kMax || bottom > kMax) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(top);
  return SmallFraction{a.negative ? -magnitude : magnitude, static_cast<std::int64_t>(bottom)};
}

}  // namespace relaygen::eval
