#include "eval/values.h"

#include <cmath>

namespace relaygen::eval {
namespace {

constexpr long double kRelative = 1e-11L;
constexpr long double kAbsolute = 1e-17L;
constexpr std::size_t kFineDecimals = 6;  // a decimal this fine may stand for what it was rounded from

bool has_variables(Part part) { return holds(part, NodeKind::variable); }

// The decimals of a number that is written as one, else nothing.
std::optional<std::size_t> decimals(Part part) {
  while (part.node().kind == NodeKind::negative) part = part.child(0);
  if (part.node().kind != NodeKind::number) return std::nullopt;
  const std::string& digits = part.node().text;
  if (digits.find('(') != std::string::npos) return std::nullopt;
  const auto point = digits.find('.');
  return point == std::string::npos ? 0 : digits.size() - point - 1;
}

// 0.333333 for 1/3, 3.14159265 for pi; but not 0.33 and 3.14.
bool is_rounded(Part decimal, Complex value, Part other, Complex exact) {
  const auto count = decimals(decimal);
  if (!count || *count < kFineDecimals || decimals(other)) return false;
  return is_real(value) && is_real(exact) &&
         std::abs(value.real() - exact.real()) < std::pow(10.0L, -static_cast<long double>(*count));
}

bool same_constants(Part a, Part b, Logarithm logarithm, Work& work) {
  const Complex left = approximate(a, {0, logarithm}, work);
  const Complex right = approximate(b, {0, logarithm}, work);
  if (!is_finite(left) || !is_finite(right)) return false;
  return close(left, right) || is_rounded(a, left, b, right) || is_rounded(b, right, a, left);
}

// Decides what is made of variables and rational numbers only, unless it is too big.
std::optional<bool> same_rational_functions(Part a, Part b, Work& work) {
  for (int point = 0; point < Place::kPoints; ++point) {
    const Exact left = exact(a, work, point);
    const Exact right = exact(b, work, point);
    if (left.outcome != Exact::Outcome::known || right.outcome != Exact::Outcome::known) return std::nullopt;
    const auto same = equal(left.value, right.value);
    if (!same) return std::nullopt;
    if (!*same) return false;
  }
  return true;
}

// Variables stand for real numbers. Where both values are not real, the point lies outside what was meant, and branches
// may differ; such points decide only where there are no others, or where i is written out.
bool same_functions(Part a, Part b, Logarithm logarithm, Work& work) {
  if (const auto decided = same_rational_functions(a, b, work)) return *decided;
  const bool complex = holds(a, NodeKind::constant, "i") || holds(b, NodeKind::constant, "i");
  int agreeing = 0;
  int outside = 0;
  int outside_agreeing = 0;
  for (int point = 0; point < Place::kPoints; ++point) {
    const Complex left = approximate(a, {point, logarithm}, work);
    const Complex right = approximate(b, {point, logarithm}, work);
    if (!is_finite(left) && !is_finite(right)) continue;
    if (!is_finite(left) || !is_finite(right)) return false;
    if (!complex && !is_real(left) && !is_real(right)) {
      ++outside;
      if (close(left, right)) ++outside_agreeing;
    } else if (close(left, right)) {
      ++agreeing;
    } else {
      return false;
    }
  }
  return agreeing >= 2 || (outside == outside_agreeing && agreeing + outside >= 2);
}

bool same_numbers(Part a, Part b, Work& work) {
  const Exact left = exact(a, work);
  const Exact right = exact(b, work);
  if (left.outcome == Exact::Outcome::too_big || right.outcome == Exact::Outcome::too_big) return same_shape(a, b);
  if (left.outcome == Exact::Outcome::known && right.outcome == Exact::Outcome::known) {
    if (equal(left.value, right.value).value_or(false)) return true;
    const bool decimal = (decimals(a).value_or(0) >= kFineDecimals) != (decimals(b).value_or(0) >= kFineDecimals);
    return decimal && decimals(a).has_value() != decimals(b).has_value() &&
           same_constants(a, b, Logarithm::decimal, work);
  }
  const auto same = has_variables(a) || has_variables(b) ? same_functions : same_constants;
  if (same(a, b, Logarithm::decimal, work)) return true;
  const bool ambiguous = holds(a, NodeKind::function, "log") || holds(b, NodeKind::function, "log");
  return (ambiguous && same(a, b, Logarithm::natural, work)) || same_shape(a, b);
}

bool is_percent(Part part) { return part.node().kind == NodeKind::percent; }
bool may_have_unit(Part part) { return part.node().kind == NodeKind::product && part.node().text == "unit"; }

}  // namespace

bool is_finite(Complex value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

bool is_real(Complex value) { return std::abs(value.imag()) <= 1e-13L * std::abs(value.real()); }

bool close(Complex a, Complex b) {
  const long double size = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= std::max(kAbsolute, kRelative * size);
}

bool same_values(Part a, Part b, Work& work) {
  if (same_numbers(a, b, work)) return true;
  if (is_percent(a) != is_percent(b))
    return is_percent(a) ? same_numbers(a.child(0), b, work) : same_numbers(a, b.child(0), work);
  if (may_have_unit(a) && !has_variables(b) && !has_variables(a.child(0))) return same_values(a.child(0), b, work);
  if (may_have_unit(b) && !has_variables(a) && !has_variables(b.child(0))) return same_values(a, b.child(0), work);
  return false;
}

}  // namespace relaygen::eval
