// Whether two answers are one. Both are parsed; then parts are compared by their kinds: collections without order,
// tuples and matrices part by part, relations by what they say, everything else by its value.
//
// The two answers are put in order first, so that the result cannot depend on which of them is the expected one.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "eval/evaluate.h"
#include "eval/expression.h"
#include "eval/grading.h"
#include "eval/plain_text.h"
#include "eval/relations.h"
#include "eval/values.h"

namespace relaygen::eval {
namespace {

constexpr std::size_t kMaxItems = 200;

bool is(Part part, NodeKind kind) { return part.node().kind == kind; }

// A list, a union, or a value with +- in it: several answers in no order.
bool is_collection(Part part) {
  return is(part, NodeKind::list) || is(part, NodeKind::set_union) ||
         (part.sign == 0 && holds(part, NodeKind::plus_minus));
}

void collect(Part part, std::vector<Part>& items) {
  if (items.size() > kMaxItems) return;
  if (is(part, NodeKind::list) || is(part, NodeKind::set_union)) {
    for (std::size_t i = 0; i < part.node().children.size(); ++i) collect(part.child(i), items);
  } else if (part.sign == 0 && holds(part, NodeKind::plus_minus)) {
    items.push_back({part.tree, part.id, 1});
    items.push_back({part.tree, part.id, -1});
  } else {
    items.push_back({part.tree, part.id, part.sign});
  }
}

// What a part is called, if it is nothing but a name.
std::string called(Part part) {
  const Node& node = part.node();
  if (node.kind == NodeKind::words) return node.text;
  if (node.kind == NodeKind::variable || node.kind == NodeKind::constant) return bare_text(node.text);
  return {};
}

bool says_nothing_fits(Part part) {
  const std::string& text = part.node().text;
  return is(part, NodeKind::words) &&
         (text.starts_with("nosolution") || text.starts_with("norealsolution") || text == "none" || text == "emptyset");
}

class Comparison {
 public:
  bool same(Part a, Part b) {
    if (!work_.spend(1)) return false;
    if (is_collection(a) || is_collection(b)) return same_collections(a, b);
    if (is(a, NodeKind::relation) || is(b, NodeKind::relation)) return same_relations(a, b);
    if (is(a, NodeKind::words) || is(b, NodeKind::words)) return !called(a).empty() && called(a) == called(b);
    if (is(a, NodeKind::based) || is(b, NodeKind::based)) return same_based(a, b);
    if (is_row(a) || is_row(b)) return same_rows(a, b);
    if (is(a, NodeKind::operation) || is(b, NodeKind::operation)) {
      return a.node().kind == b.node().kind && a.node().text == b.node().text && same_children(a, b);
    }
    return same_values(a, b, work_);
  }

 private:
  bool same_children(Part a, Part b) {
    if (a.node().children.size() != b.node().children.size()) return false;
    for (std::size_t i = 0; i < a.node().children.size(); ++i) {
      if (!same(a.child(i), b.child(i))) return false;
    }
    return true;
  }

  // A bare "3, 4" may also mean the point (3, 4).
  bool same_collections(Part a, Part b) {
    if (is(b, NodeKind::tuple)) std::swap(a, b);
    if (is(a, NodeKind::tuple) && is(b, NodeKind::list) && b.node().children.size() > 1) {
      return a.node().text == "()" && b.node().text.empty() && same_children(a, b);
    }
    std::vector<Part> left;
    std::vector<Part> right;
    collect(a, left);
    collect(b, right);
    if (left.empty() && right.size() == 1) return says_nothing_fits(right[0]);
    if (right.empty() && left.size() == 1) return says_nothing_fits(left[0]);
    if (left.size() > kMaxItems || right.size() > kMaxItems) return false;
    if (a.node().text == "set" || b.node().text == "set") {
      drop_repeated(left);
      drop_repeated(right);
    }
    if (left.size() != right.size()) return false;
    for (const Part item : left) {
      const auto found = std::find_if(right.begin(), right.end(), [&](Part other) { return same(item, other); });
      if (found == right.end()) return false;
      right.erase(found);
    }
    return true;
  }

  void drop_repeated(std::vector<Part>& items) {
    std::vector<Part> kept;
    for (const Part item : items) {
      if (std::none_of(kept.begin(), kept.end(), [&](Part other) { return same(item, other); })) kept.push_back(item);
    }
    items = std::move(kept);
  }

  // --- tuples, intervals, matrices --------------------------------------------------------------------------------
  static bool is_row(Part part) { return is(part, NodeKind::tuple) || is(part, NodeKind::matrix); }

  static bool is_vector(Part part) {
    if (is(part, NodeKind::tuple))
      return part.node().text == "()" || part.node().text == "<>" || part.node().text == "[]";
    if (!is(part, NodeKind::matrix)) return false;
    return part.node().text == "1" || part.node().text == std::to_string(part.node().children.size());
  }

  bool same_rows(Part a, Part b) {
    if (!is_row(a) || !is_row(b)) return false;
    const std::string& left = a.node().text;
    const std::string& right = b.node().text;
    if (is(a, NodeKind::tuple) && is(b, NodeKind::tuple)) {
      const bool both_open = (left == "()" || left == "<>") && (right == "()" || right == "<>");
      return (left == right || both_open) && same_children(a, b);
    }
    if (is(a, NodeKind::matrix) && is(b, NodeKind::matrix)) return left == right && same_children(a, b);
    return is_vector(a) && is_vector(b) && same_children(a, b);
  }

  // --- relations --------------------------------------------------------------------------------------------------
  bool same_relations(Part a, Part b) {
    if (!is(a, NodeKind::relation) || !is(b, NodeKind::relation)) {
      if (!is(a, NodeKind::relation)) std::swap(a, b);
      return defined_value(a) ? same_as_defined(a, b) : same_spans(a, b);
    }
    const auto left = defined_value(a);
    const auto right = defined_value(b);
    if (left && right) return same_shape(left->name, right->name) && same(left->value, right->value);
    if (left || right) {
      if (same_spans(left ? left->value : a, right ? right->value : b)) return true;
    }
    const Ordered first = ordered(a);
    const Ordered second = ordered(b);
    if (first.signs != second.signs) return false;
    bool alike = true;
    for (std::size_t i = 0; alike && i < first.sides.size(); ++i) alike = same(first.sides[i], second.sides[i]);
    return alike || same_statements(first, second, work_);
  }

  // x = 1/3 = 0.333: any of what x is; 1/3 = 0.333: either.
  bool same_as_defined(Part chain, Part value) {
    const Definition definition = *defined_value(chain);
    if (same(definition.value, value)) return true;
    if (chain.node().text == "e") return false;
    for (std::size_t i = 0; i < chain.node().children.size(); ++i) {
      const Part side = chain.child(i);
      const bool is_side = side.id != definition.value.id && (side.id != definition.name.id || !has_name(side));
      if (is_side && same(side, value)) return true;
    }
    return false;
  }

  bool same_spans(Part a, Part b) {
    const auto left = span(a);
    const auto right = span(b);
    return left && right && same_ends(left->low, right->low) && same_ends(left->high, right->high);
  }

  bool same_ends(const SpanEnd& a, const SpanEnd& b) {
    if (!a.bound || !b.bound) return !a.bound && !b.bound;
    return a.belongs == b.belongs && same(*a.bound, *b.bound);
  }

  // 2516_8 is a numeral, not the number 1358. The base may be left out.
  bool same_based(Part a, Part b) {
    const auto digits = [](Part part) { return part.node().text.substr(0, part.node().text.find('_')); };
    if (is(a, NodeKind::based) && is(b, NodeKind::based)) return a.node().text == b.node().text;
    const Part other = is(a, NodeKind::based) ? b : a;
    return is(other, NodeKind::number) && digits(a) == digits(b);
  }

  Work work_;
};

// "(B) 12" answers the expected "(B)".
bool same_option(std::string_view a, std::string_view b) {
  const auto is_bare = [](std::string_view text) {
    const std::string bare = bare_text(text);
    return bare.size() == 1 || (bare.size() == 3 && bare.front() == '(' && bare.back() == ')');
  };
  if (!is_bare(a) && !is_bare(b)) return false;
  const auto left = option_letter(a, 0);
  return left && left == option_letter(b, 0);
}

std::string_view cleaned(std::string_view text) {
  text = trimmed(text);
  while (!text.empty() && (text.back() == '.' || text.back() == ',' || text.back() == ';' || text.back() == ':')) {
    text.remove_suffix(1);
    text = trimmed(text);
  }
  return text;
}

}  // namespace

bool equivalent(std::string_view given, std::string_view expected) {
  given = cleaned(given);
  expected = cleaned(expected);
  if (given.empty() || expected.empty()) return false;
  if (expected < given) std::swap(given, expected);
  if (given == expected) return true;
  const std::string bare = bare_text(given);
  if (!bare.empty() && bare == bare_text(expected)) return true;
  if (same_option(given, expected)) return true;
  auto left = parse(given);
  if (!left) return false;
  auto right = parse(expected);
  if (!right) return false;
  const auto same = [&] { return Comparison().same({&*left, left->root}, {&*right, right->root}); };
  return same() || (left->fold_case() && right->fold_case() && same());
}

}  // namespace relaygen::eval
