// The value of an expression. Internal.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "eval/expression.h"
#include "eval/rational.h"

namespace relaygen::eval {

/// What one comparison may still cost, so that no answer can keep the program busy.
class Work {
 public:
  /// False: nothing is left.
  bool spend(std::uint64_t steps) {
    left_ = steps > left_ ? 0 : left_ - steps;
    return left_ > 0;
  }

 private:
  std::uint64_t left_ = 400'000;
};

struct Exact {
  enum class Outcome : std::uint8_t {
    known,
    not_rational,  ///< a root, a variable, a logarithm, ...
    too_big,       ///< rational, but beyond what is worth computing
  };
  Outcome outcome = Outcome::not_rational;
  Rational value{};
};

/// The exact value of what is made of rational numbers. With a `point` variables are rational as well, with values that
/// depend on their names and on it.
[[nodiscard]] Exact exact(Part part, Work& work, std::optional<int> point = std::nullopt);

using Complex = std::complex<long double>;

/// What "log" without a base means.
enum class Logarithm : std::uint8_t { decimal, natural };

/// Where an expression is evaluated: each variable has a value that depends on its name and on `point`. At the first
/// points all are positive, then all are negative, then they are of either sign.
struct Place {
  static constexpr int kPoints = 9;

  int point = 0;
  Logarithm logarithm = Logarithm::decimal;
};

/// A number; not finite where there is none. Roots of negative numbers are real if their index is odd.
[[nodiscard]] Complex approximate(Part part, Place place, Work& work);

}  // namespace relaygen::eval
