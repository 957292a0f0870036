// Comparing values. Internal.
#pragma once

#include "eval/evaluate.h"
#include "eval/expression.h"

namespace relaygen::eval {

/// Whether two expressions have one value, for all values of their variables. Exactly where both are rational.
[[nodiscard]] bool same_values(Part a, Part b, Work& work);

/// Equal but for rounding.
[[nodiscard]] bool close(Complex a, Complex b);
[[nodiscard]] bool is_finite(Complex value);
[[nodiscard]] bool is_real(Complex value);

}  // namespace relaygen::eval
