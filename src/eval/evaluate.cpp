#include "eval/evaluate.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace relaygen::eval {
namespace {

constexpr std::int64_t kMaxFactorial = 400;  // its digits do not fit anyway
constexpr std::uint64_t kPowerSteps = 200;   // about what a power costs, in nodes
constexpr long double kNone = std::numeric_limits<long double>::quiet_NaN();
constexpr Complex kNothing{kNone, kNone};

bool is_real(Complex value) { return std::abs(value.imag()) <= 1e-15L * std::abs(value.real()); }

// A hash of name and point.
std::uint64_t hash_of(std::string_view name, int point) {
  std::uint64_t hash = 0xcbf29ce484222325U + static_cast<std::uint64_t>(point) * 0x9e3779b97f4a7c15U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

// Every kind of sign is met early: |x| is neither x nor -x.
enum class Signs : std::uint8_t { positive, negative, either };
Signs signs_at(int point) {
  if (point == 3) return Signs::negative;
  return point < 3 ? Signs::positive : Signs::either;
}

// --- exact --------------------------------------------------------------------------------------------------------

Exact known(std::optional<Rational> value) {
  if (!value) return {Exact::Outcome::too_big, {}};
  return {Exact::Outcome::known, std::move(*value)};
}

std::optional<std::int64_t> whole(const Rational& value) {
  const auto fraction = small_fraction(value);
  if (!fraction || fraction->denominator != 1) return std::nullopt;
  return fraction->numerator;
}

// In thirds and never a whole number: 0, 1 and 2 hide too much.
Rational rational_value(std::string_view name, int point) {
  constexpr std::int64_t kValues = 301;
  const auto size = static_cast<std::int64_t>(hash_of(name, point) % kValues) * 3 + 1;
  const Signs signs = signs_at(point);
  const bool negative = signs == Signs::negative || (signs == Signs::either && size % 2 == 0);
  return *multiply(rational(negative ? -size : size), invert(rational(3)));
}

Exact exact_power(const Exact& base, const Exact& exponent) {
  const auto times = whole(exponent.value);
  if (!times) {
    const auto fraction = small_fraction(exponent.value);
    return {fraction ? Exact::Outcome::not_rational : Exact::Outcome::too_big, {}};
  }
  if (base.value.numerator.is_zero() && *times < 0) return {};
  return known(power(base.value, *times));
}

Exact exact_factorial(const Rational& value, Work& work) {
  const auto n = whole(value);
  if (!n || *n < 0) return {};
  if (*n > kMaxFactorial) return {Exact::Outcome::too_big, {}};
  work.spend(8 * static_cast<std::uint64_t>(*n));
  std::optional<Rational> result = rational(1);
  for (std::int64_t i = 2; result && i <= *n; ++i) result = multiply(*result, rational(i));
  return known(std::move(result));
}

Exact exact_binomial(const Rational& top, const Rational& bottom, Work& work) {
  const auto n = whole(top);
  auto k = whole(bottom);
  if (!n || !k || *n < 0) return {};
  if (*k < 0 || *k > *n) return known(rational(0));
  k = std::min(*k, *n - *k);
  work.spend(16 * static_cast<std::uint64_t>(std::min(*k, kMaxFactorial)));
  std::optional<Rational> result = rational(1);
  for (std::int64_t i = 0; result && i < *k; ++i) {
    if (i > kMaxFactorial) return {Exact::Outcome::too_big, {}};
    result = multiply(*result, rational(*n - i));
    if (result) result = multiply(*result, invert(rational(i + 1)));
  }
  return known(std::move(result));
}

Exact exact_function(const Node& node, const Exact& argument) {
  if (node.children.size() != 1) return {};
  if (node.text == "abs") {
    Exact result = argument;
    result.value.negative = false;
    return result;
  }
  if (node.text != "floor" && node.text != "ceil") return {};
  const auto fraction = small_fraction(argument.value);
  if (!fraction) return {};
  std::int64_t quotient = fraction->numerator / fraction->denominator;
  const std::int64_t rest = fraction->numerator % fraction->denominator;
  if (node.text == "floor" && rest < 0) --quotient;
  if (node.text == "ceil" && rest > 0) ++quotient;
  return known(rational(quotient));
}

// `fold` joins two values.
template <typename Fold>
Exact exact_fold(Part part, Work& work, std::optional<int> point, Rational start, Fold fold) {
  Exact total = known(std::move(start));
  bool too_big = false;
  for (std::size_t i = 0; i < part.node().children.size(); ++i) {
    Exact one = exact(part.child(i), work, point);
    if (one.outcome == Exact::Outcome::not_rational) return one;
    too_big = too_big || one.outcome == Exact::Outcome::too_big || total.outcome == Exact::Outcome::too_big;
    if (too_big) continue;
    work.spend(1 + total.value.numerator.limbs.size() * one.value.numerator.limbs.size() / 16);
    total = known(fold(total.value, one.value));
  }
  if (too_big) total.outcome = Exact::Outcome::too_big;
  return total;
}

}  // namespace

Exact exact(Part part, Work& work, std::optional<int> point) {
  const Node& node = part.node();
  if (!work.spend(1)) return {};
  if (node.kind == NodeKind::number) return known(parse_decimal(node.text));
  if (node.kind == NodeKind::variable && point) return known(rational_value(node.text, *point));
  using Values = const Rational&;
  if (node.kind == NodeKind::sum)
    return exact_fold(part, work, point, rational(0), [](Values a, Values b) { return add(a, b); });
  if (node.kind == NodeKind::product)
    return exact_fold(part, work, point, rational(1), [](Values a, Values b) { return multiply(a, b); });
  if (node.children.empty() || node.children.size() > 2) return {};

  Exact first = exact(part.child(0), work, point);
  if (first.outcome != Exact::Outcome::known) return first;
  switch (node.kind) {
    case NodeKind::inverse: return first.value.numerator.is_zero() ? Exact{} : known(invert(first.value));
    case NodeKind::negative: return known(negate(first.value));
    case NodeKind::plus_minus: return known((part.sign < 0) != (node.text == "-") ? negate(first.value) : first.value);
    case NodeKind::percent: return known(multiply(first.value, invert(rational(100))));
    case NodeKind::factorial: return exact_factorial(first.value, work);
    case NodeKind::function: return exact_function(node, first);
    case NodeKind::power:
    case NodeKind::binomial: {
      Exact second = exact(part.child(1), work, point);
      if (second.outcome != Exact::Outcome::known) return second;
      work.spend(kPowerSteps);
      return node.kind == NodeKind::power ? exact_power(first, second)
                                          : exact_binomial(first.value, second.value, work);
    }
    default: return {};
  }
}

// --- approximate --------------------------------------------------------------------------------------------------

namespace {

long double variable_value(std::string_view name, int point) {
  const long double unit =
      static_cast<long double>(hash_of(name, point) >> 11) / static_cast<long double>(std::uint64_t{1} << 53);
  const long double size = 0.3L + 2.2L * unit;
  switch (signs_at(point)) {
    case Signs::positive: return size;
    case Signs::negative: return -size;
    case Signs::either: return 5.0L * unit - 2.5L;
  }
  return size;
}

Complex constant_value(std::string_view name) {
  if (name == "pi") return std::numbers::pi_v<long double>;
  if (name == "e") return std::numbers::e_v<long double>;
  if (name == "i") return {0.0L, 1.0L};
  return std::numeric_limits<long double>::infinity();
}

long double number_value(std::string_view digits) {
  if (digits.find('(') == std::string_view::npos) return std::strtold(std::string(digits).c_str(), nullptr);
  std::string long_form(digits.substr(0, digits.find('(')));
  const std::string_view period = digits.substr(long_form.size() + 1, digits.size() - long_form.size() - 2);
  while (long_form.size() < 60 + digits.size()) long_form.append(period);
  return std::strtold(long_form.c_str(), nullptr);
}

Complex power_value(Complex base, Complex exponent, std::optional<SmallFraction> fraction) {
  if (!is_real(exponent)) return base == Complex{} ? kNothing : std::pow(base, exponent);
  const long double up = exponent.real();
  if (base == Complex{}) return up > 0 ? Complex{} : up == 0 ? Complex{1.0L} : kNothing;
  if (!is_real(base)) {
    if (up == std::round(up) && std::abs(up) <= 64) return std::pow(base, static_cast<int>(up));
    return std::pow(base, exponent);
  }
  if (base.real() > 0 || up == std::round(up)) return std::pow(base.real(), up);
  if (fraction && fraction->denominator % 2 == 1) {  // an odd root of a negative number is real
    const long double size = std::pow(-base.real(), up);
    return fraction->numerator % 2 == 0 ? size : -size;
  }
  return std::pow(Complex(base.real(), 0.0L), exponent);
}

Complex real_function(std::string_view name, long double x) {
  if (name == "floor") return std::floor(x + 1e-15L);
  if (name == "ceil") return std::ceil(x - 1e-15L);
  if (name == "arccot") return std::numbers::pi_v<long double> / 2 - std::atan(x);
  return kNothing;
}

Complex function_value(std::string_view name, Complex x) {
  if (name == "abs") return std::abs(x);
  if (name == "sin") return std::sin(x);
  if (name == "cos") return std::cos(x);
  if (name == "tan") return std::tan(x);
  if (name == "cot") return Complex{1.0L} / std::tan(x);
  if (name == "sec") return Complex{1.0L} / std::cos(x);
  if (name == "csc") return Complex{1.0L} / std::sin(x);
  if (name == "sinh") return std::sinh(x);
  if (name == "cosh") return std::cosh(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "arcsin") return std::asin(x);
  if (name == "arccos") return std::acos(x);
  if (name == "arctan") return is_real(x) ? Complex{std::atan(x.real())} : std::atan(x);
  if (name == "ln") return x == Complex{} ? kNothing : std::log(x);
  return is_real(x) ? real_function(name, x.real()) : kNothing;
}

Complex logarithm(Part part, Place place, Work& work, Complex x) {
  if (x == Complex{}) return kNothing;
  const Complex value = std::log(x);
  if (part.node().children.size() > 1) return value / std::log(approximate(part.child(1), place, work));
  return place.logarithm == Logarithm::decimal ? value / std::numbers::ln10_v<long double> : value;
}

Complex extreme(Part part, Place place, Work& work) {
  Complex best = approximate(part.child(0), place, work);
  for (std::size_t i = 1; i < part.node().children.size(); ++i) {
    const Complex one = approximate(part.child(i), place, work);
    if ((part.node().text == "max") == (one.real() > best.real())) best = one;
  }
  return best;
}

Complex gamma_of(Complex n) { return is_real(n) ? Complex{std::tgamma(n.real() + 1)} : kNothing; }

Complex combine(Part part, Place place, Work& work, Complex first) {
  const Node& node = part.node();
  switch (node.kind) {
    case NodeKind::inverse: return first == Complex{} ? kNothing : Complex{1.0L} / first;
    case NodeKind::negative: return -first;
    case NodeKind::plus_minus: return (part.sign < 0) != (node.text == "-") ? -first : first;
    case NodeKind::percent: return first / 100.0L;
    case NodeKind::factorial: return gamma_of(first);
    case NodeKind::power: {
      const Exact exponent = exact(part.child(1), work);
      return power_value(first, approximate(part.child(1), place, work),
                         exponent.outcome == Exact::Outcome::known ? small_fraction(exponent.value) : std::nullopt);
    }
    case NodeKind::root: {
      const Exact index = exact(part.child(1), work);
      auto fraction = index.outcome == Exact::Outcome::known ? small_fraction(index.value) : std::nullopt;
      if (fraction && (fraction->denominator != 1 || fraction->numerator < 1)) fraction.reset();
      if (fraction) fraction = SmallFraction{1, fraction->numerator};
      if (fraction && fraction->denominator == 2)
        return is_real(first) && first.real() >= 0 ? Complex{std::sqrt(first.real())} : std::sqrt(first);
      return power_value(first, Complex{1.0L} / approximate(part.child(1), place, work), fraction);
    }
    case NodeKind::binomial: {
      const Complex k = approximate(part.child(1), place, work);
      return gamma_of(first) / gamma_of(k) / gamma_of(first - k);
    }
    case NodeKind::function:
      if (node.text == "max" || node.text == "min") return extreme(part, place, work);
      if (node.text == "log") return logarithm(part, place, work, first);
      return node.children.size() == 1 ? function_value(node.text, first) : kNothing;
    default: return kNothing;
  }
}

}  // namespace

Complex approximate(Part part, Place place, Work& work) {
  const Node& node = part.node();
  if (!work.spend(1)) return kNothing;
  switch (node.kind) {
    case NodeKind::number: return number_value(node.text);
    case NodeKind::constant: return constant_value(node.text);
    case NodeKind::variable: return variable_value(node.text, place.point);
    case NodeKind::sum: {
      Complex total{};
      for (std::size_t i = 0; i < node.children.size(); ++i) total += approximate(part.child(i), place, work);
      return total;
    }
    case NodeKind::product: {
      Complex total{1.0L};
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Complex one = approximate(part.child(i), place, work);
        total = is_real(total) && is_real(one) ? Complex{total.real() * one.real()} : total * one;
      }
      return total;
    }
    default:
      return node.children.empty() ? kNothing : combine(part, place, work, approximate(part.child(0), place, work));
  }
}

}  // namespace relaygen::eval
