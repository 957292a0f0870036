// What equations and inequalities say. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/evaluate.h"
#include "eval/expression.h"

namespace relaygen::eval {

/// "x = 3", "f(x) = x^2", "x \in [0, 1]": something gets a name.
struct Definition {
  Part name;
  Part value;
};
[[nodiscard]] std::optional<Definition> defined_value(Part relation);

/// Whether a part only names something: x, f(x), |AB|, "the area".
[[nodiscard]] bool has_name(Part part);

/// A chain whose signs point one way: "a > b" is "b < a".
struct Ordered {
  std::string signs;
  std::vector<Part> sides;
};
[[nodiscard]] Ordered ordered(Part relation);

/// Whether two statements of one sign differ only by a factor: x = 2y, 2x - 4y = 0. Signs other than = need a positive
/// one.
[[nodiscard]] bool same_statements(const Ordered& a, const Ordered& b, Work& work);

/// An interval, also as an inequality: (2, 3], 2 < x <= 3, x > 2.
struct SpanEnd {
  std::optional<Part> bound;  ///< nothing: infinity
  bool belongs = false;
};
struct Span {
  SpanEnd low, high;
};
[[nodiscard]] std::optional<Span> span(Part part);

}  // namespace relaygen::eval
