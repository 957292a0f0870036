#include "eval/relations.h"

#include <algorithm>
#include <cmath>

#include "eval/values.h"

namespace relaygen::eval {
namespace {

bool is_variable(Part part) { return part.node().kind == NodeKind::variable; }
bool has_variables(Part part) { return holds(part, NodeKind::variable); }

bool is_capital(Part part) {
  const std::string& name = part.node().text;
  return is_variable(part) && !name.empty() && name[0] >= 'A' && name[0] <= 'Z';
}

// f(x), f^{-1}(x), P(A), the segment AB
bool is_call(Part part) {
  const Node& node = part.node();
  if (node.kind != NodeKind::product) return false;
  Part first = part.child(0);
  if (first.node().kind == NodeKind::power) first = first.child(0);
  if (!is_variable(first)) return false;
  bool segment = true;
  for (std::size_t i = 0; i < node.children.size(); ++i) segment = segment && is_capital(part.child(i));
  const std::string& name = first.node().text;
  return segment ||
         (node.children.size() == 2 && std::string_view("fghpqFGHPQTVAS").find(name[0]) != std::string_view::npos);
}

bool is_infinity(Part part) {
  while (part.node().kind == NodeKind::negative) part = part.child(0);
  return part.node().kind == NodeKind::constant && part.node().text == "infinity";
}

SpanEnd end_at(Part bound, bool belongs) {
  if (is_infinity(bound)) return {std::nullopt, false};
  return {bound, belongs};
}

char turned(char sign) {
  if (sign == '>') return '<';
  if (sign == 'g') return 'l';
  return sign;
}

Complex difference(const Ordered& statement, int point, Work& work) {
  return approximate(statement.sides[0], {point, Logarithm::decimal}, work) -
         approximate(statement.sides[1], {point, Logarithm::decimal}, work);
}

}  // namespace

bool has_name(Part part) {
  const Node& node = part.node();
  if (node.kind == NodeKind::variable || node.kind == NodeKind::words) return true;
  if (node.kind == NodeKind::function) return has_variables(part);
  if (node.kind == NodeKind::tuple) {
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (!is_variable(part.child(i))) return false;
    }
    return true;
  }
  return is_call(part);
}

std::optional<Definition> defined_value(Part relation) {
  const Node& node = relation.node();
  const Part first = relation.child(0);
  const Part last = relation.child(node.children.size() - 1);
  if (node.text == "e") return Definition{first, last};
  if (node.text.find_first_not_of('=') != std::string::npos) return std::nullopt;
  if (is_variable(first) && is_call(last)) return Definition{last, first};
  if (has_name(first)) return Definition{first, last};
  if (has_name(last)) return Definition{last, first};
  if (!has_variables(first) && !has_variables(last)) return Definition{first, last};
  return std::nullopt;
}

Ordered ordered(Part relation) {
  Ordered result;
  result.signs = relation.node().text;
  for (std::size_t i = 0; i < relation.node().children.size(); ++i) result.sides.push_back(relation.child(i));
  if (result.signs.find_first_of(">g") != std::string::npos && result.signs.find_first_of("<l") == std::string::npos) {
    std::reverse(result.signs.begin(), result.signs.end());
    std::reverse(result.sides.begin(), result.sides.end());
    std::transform(result.signs.begin(), result.signs.end(), result.signs.begin(), turned);
  }
  return result;
}

bool same_statements(const Ordered& a, const Ordered& b, Work& work) {
  if (a.sides.size() != 2 || b.sides.size() != 2) return false;
  std::optional<Complex> factor;
  int points = 0;
  for (int point = 0; point < Place::kPoints; ++point) {
    const Complex left = difference(a, point, work);
    const Complex right = difference(b, point, work);
    if (!is_finite(left) || !is_finite(right)) continue;
    if (std::abs(left) < 1e-9L || std::abs(right) < 1e-9L) return false;
    const Complex ratio = left / right;
    if (!is_real(ratio) || (factor && !close(ratio, *factor))) return false;
    factor = ratio;
    ++points;
  }
  return points >= 3 && (a.signs == "=" || a.signs == "n" || factor->real() > 0);
}

std::optional<Span> span(Part part) {
  const Node& node = part.node();
  if (node.kind == NodeKind::tuple && node.children.size() == 2 && node.text.size() == 2) {
    return Span{end_at(part.child(0), node.text[0] == '['), end_at(part.child(1), node.text[1] == ']')};
  }
  if (node.kind != NodeKind::relation) return std::nullopt;
  const Ordered chain = ordered(part);
  if (chain.signs.find_first_not_of("<l") != std::string::npos) return std::nullopt;
  const auto& sides = chain.sides;
  if (sides.size() == 3 && is_variable(sides[1])) {
    return Span{end_at(sides[0], chain.signs[0] == 'l'), end_at(sides[2], chain.signs[1] == 'l')};
  }
  if (sides.size() != 2) return std::nullopt;
  if (is_variable(sides[0]) && !has_variables(sides[1])) return Span{{}, end_at(sides[1], chain.signs[0] == 'l')};
  if (is_variable(sides[1]) && !has_variables(sides[0])) return Span{end_at(sides[0], chain.signs[0] == 'l'), {}};
  return std::nullopt;
}

}  // namespace relaygen::eval
