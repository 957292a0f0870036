#include <algorithm>

#include "eval/parser.h"

namespace relaygen::eval {

// --- primaries --------------------------------------------------------------------------------------------------
Parser::Parsed Parser::primary() {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return std::nullopt;
  const Token current = token();
  switch (current.kind) {
    case TokenKind::number: return numeral();
    case TokenKind::variable: return variable();
    case TokenKind::constant: ++next_; return make(NodeKind::constant, current.text);
    case TokenKind::function: return function();
    case TokenKind::open: return group();
    case TokenKind::bar: return bars();
    case TokenKind::fraction: return fraction();
    case TokenKind::binomial: return binomial();
    case TokenKind::root: return root();
    case TokenKind::reals: ++next_; return reals();
    case TokenKind::empty_set: ++next_; return make(NodeKind::list, "set");
    default: return std::nullopt;
  }
}

Parser::Parsed Parser::reals() {
  const Parsed infinity = make(NodeKind::constant, "infinity");
  const Parsed low = make(NodeKind::negative, infinity);
  if (!infinity || !low) return std::nullopt;
  return make(NodeKind::tuple, "()", {*low, *infinity});
}

Parser::Parsed Parser::numeral() {
  const Token current = token();
  ++next_;
  if (at(TokenKind::subscript)) {
    ++next_;
    const std::string base = subscript();
    if (base.empty()) return std::nullopt;
    return make(NodeKind::based, current.text + "_" + base);
  }
  return mixed_number(current);
}

// The number just read, with the fraction behind it: 1\frac{4}{5}, 1 4/5.
Parser::Parsed Parser::mixed_number(const Token& whole) {
  const Parsed value = number(whole.text);
  if (!value || !whole.plain) return value;
  if (at(TokenKind::number) && token().plain && ahead(1, TokenKind::divide) && ahead(2, TokenKind::number) &&
      token(2).plain) {
    const Parsed part = divided(number(token().text), number(token(2).text));
    next_ += 3;
    return part ? make(NodeKind::sum, "", {*value, *part}) : std::nullopt;
  }
  if (!at(TokenKind::fraction)) return value;
  const Parsed part = fraction();
  if (!part) return std::nullopt;
  const Node& quotient = tree_[*part];
  const bool mixed = tree_[quotient.children[0]].kind == NodeKind::number &&
                     tree_[tree_[quotient.children[1]].children[0]].kind == NodeKind::number;
  return make(mixed ? NodeKind::sum : NodeKind::product, "", {*value, *part});
}

// What stands behind '_', as a name.
std::string Parser::subscript() {
  std::string name;
  if (!at(TokenKind::open, "{")) {
    if (at(TokenKind::number) || at(TokenKind::variable) || at(TokenKind::constant) || at(TokenKind::word) ||
        at(TokenKind::function)) {
      name = token().text;
      ++next_;
    }
    return name;
  }
  ++next_;
  while (!at(TokenKind::end) && !at(TokenKind::close, "{")) {
    name += token().text.empty() ? std::string("~") : token().text;
    ++next_;
  }
  return take(TokenKind::close, "{") ? name : std::string();
}

Parser::Parsed Parser::variable() {
  std::string name = token().text;
  ++next_;
  if (take(TokenKind::subscript)) {
    const std::string below = subscript();
    if (below.empty()) return std::nullopt;
    name += "_" + below;
  }
  while (take(TokenKind::prime)) name += "'";
  return make(NodeKind::variable, std::move(name));
}

// An argument of \frac and its like: a group, or one digit, or one thing.
Parser::Parsed Parser::argument() {
  if (at(TokenKind::number) && token().plain && token().text.size() > 1) {
    std::string& digits = tokens_[next_].text;
    const Parsed digit = number(digits.substr(0, 1));
    digits.erase(0, 1);
    return digit;
  }
  return primary();
}

Parser::Parsed Parser::divided(Parsed top, Parsed bottom) {
  const Parsed inverse = make(NodeKind::inverse, bottom);
  return top && inverse ? make(NodeKind::product, "", {*top, *inverse}) : std::nullopt;
}

Parser::Parsed Parser::fraction() {
  ++next_;
  const Parsed top = argument();
  return top ? divided(top, argument()) : std::nullopt;
}

Parser::Parsed Parser::binomial() {
  ++next_;
  const Parsed top = argument();
  if (!top) return std::nullopt;
  const Parsed bottom = argument();
  if (!bottom) return std::nullopt;
  return make(NodeKind::binomial, "", {*top, *bottom});
}

Parser::Parsed Parser::root() {
  ++next_;
  Parsed index = number("2");
  if (take(TokenKind::open, "[")) {
    index = sum();
    if (!take(TokenKind::close, "[")) return std::nullopt;
  }
  const Parsed radicand = primary();
  if (!radicand || !index) return std::nullopt;
  return make(NodeKind::root, "", {*radicand, *index});
}

// --- functions ----------------------------------------------------------------------------------------------------

// \sin^2 x, \log_2 8, \sin^{-1} x, sqrt(5)
Parser::Parsed Parser::function() {
  const std::string name = token().text;
  ++next_;
  Parsed up;
  Parsed base;
  bool inverse = false;
  while (at(TokenKind::power) || at(TokenKind::subscript)) {
    const bool above = at(TokenKind::power);
    ++next_;
    const Parsed value = above ? exponent() : argument();
    if (!value) return std::nullopt;
    (above ? up : base) = value;
    const Node& node = tree_[*value];
    inverse = inverse || (above && node.kind == NodeKind::negative && tree_[node.children[0]].text == "1");
  }
  ++functions_;
  const Parsed argument = function_argument();
  --functions_;
  if (!argument) return std::nullopt;
  if (inverse) return apply("arc" + name, argument, base);
  const Parsed value = apply(name, argument, base);
  return value && up ? make(NodeKind::power, "", {*value, *up}) : value;
}

// A group; or what follows up to a sign or the next function.
Parser::Parsed Parser::function_argument() {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return std::nullopt;
  if (at(TokenKind::open)) return primary();
  std::vector<NodeId> factors;
  do {
    const Parsed factor = factors.empty() ? signed_power() : power();
    if (!factor) return std::nullopt;
    factors.push_back(*factor);
  } while (starts_primary() && !at(TokenKind::function));
  return factors.size() == 1 ? Parsed(factors[0]) : make(NodeKind::product, "", std::move(factors));
}

Parser::Parsed Parser::apply(std::string name, Parsed argument, Parsed base) {
  if (name == "asin" || name == "acos" || name == "atan") name.insert(1, "rc");
  if (name == "sqrt" || name == "cbrt") {
    const Parsed index = number(name == "sqrt" ? "2" : "3");
    return index ? make(NodeKind::root, "", {*argument, *index}) : std::nullopt;
  }
  if (name == "exp") {
    const Parsed e = make(NodeKind::constant, "e");
    return e ? make(NodeKind::power, "", {*e, *argument}) : std::nullopt;
  }
  if (name == "lg") base = number("10");
  if (base) return make(NodeKind::function, name == "lg" ? std::string("log") : std::move(name), {*argument, *base});
  const Node& node = tree_[*argument];
  if (node.kind == NodeKind::tuple && node.text == "()") return make(NodeKind::function, name, node.children);
  return make(NodeKind::function, argument, name);
}

// --- groups -------------------------------------------------------------------------------------------------------

Parser::Parsed Parser::group() {
  const std::string open = token().text;
  const Enclosed enclosure(*this);
  if (open == "\\{") return set();
  if (open == "matrix") return matrix();
  if (open == "|") return enclosed("|", "abs");
  if (open == "floor" || open == "ceil") return enclosed(open, open);
  if (open != "{") return brackets();
  ++next_;
  const Parsed inside = list();
  if (!inside || !take(TokenKind::close, "{")) return std::nullopt;
  Node& node = tree_[*inside];
  if (node.kind == NodeKind::list) node.text = "set";
  return inside;
}

Parser::Parsed Parser::enclosed(std::string_view close, std::string function) {
  ++next_;
  const Parsed inside = sum();
  if (!inside || !take(TokenKind::close, close)) return std::nullopt;
  return make(NodeKind::function, inside, std::move(function));
}

// |x|: the next bar closes, but for those inside brackets.
Parser::Parsed Parser::bars() {
  const Enclosed enclosure(*this);
  ++next_;
  bars_ = 1;
  const Parsed inside = sum();
  if (!inside || !(take(TokenKind::bar) || take(TokenKind::close, "|"))) return std::nullopt;
  return make(NodeKind::function, inside, "abs");
}

Parser::Parsed Parser::brackets() {
  std::string kind = token().text;
  ++next_;
  const Parsed inside = list();
  if (!inside || !at(TokenKind::close)) return std::nullopt;
  const std::string& close = token().text;
  if ((kind == "<") != (close == "<") || (close != "<" && close != "(" && close != "[")) return std::nullopt;
  kind += close == "<" ? ">" : close == "(" ? ")" : "]";
  ++next_;
  Node& node = tree_[*inside];
  if (node.kind == NodeKind::list && node.text.empty()) {
    node.kind = NodeKind::tuple;
    node.text = std::move(kind);
    return inside;
  }
  return kind == "()" || kind == "[]" ? inside : std::nullopt;
}

// {1, 2}, or {x | what x fulfils}, which is what x fulfils.
Parser::Parsed Parser::set() {
  ++next_;
  if (take(TokenKind::close, "\\{")) return make(NodeKind::list, "set");
  set_head_ = true;
  const Parsed head = relation();
  set_head_ = false;
  if (!head) return std::nullopt;
  if (take(TokenKind::bar) || take(TokenKind::colon)) {
    const Parsed condition = list();
    if (!condition || !take(TokenKind::close, "\\{")) return std::nullopt;
    const bool named = tree_[*head].kind == NodeKind::variable ||
                       (tree_[*head].kind == NodeKind::relation && tree_[*head].text == "e");
    return named ? condition : make(NodeKind::tuple, "{|}", {*head, *condition});
  }
  std::vector<NodeId> items{*head};
  while (take(TokenKind::separator)) {
    if (at(TokenKind::separator) || at(TokenKind::close)) continue;
    const Parsed item = relation();
    if (!item) return std::nullopt;
    items.push_back(*item);
  }
  if (!take(TokenKind::close, "\\{")) return std::nullopt;
  return make(NodeKind::list, "set", std::move(items));
}

Parser::Parsed Parser::matrix() {
  ++next_;
  std::vector<NodeId> cells;
  std::size_t columns = 0;
  std::size_t row = 0;
  while (!at(TokenKind::close, "matrix")) {
    const Parsed cell = operand();
    if (!cell) return std::nullopt;
    cells.push_back(*cell);
    ++row;
    if (take(TokenKind::cell)) continue;
    if (columns == 0) columns = row;
    if (row != columns) return std::nullopt;
    row = 0;
    if (!take(TokenKind::row)) break;
  }
  if (!take(TokenKind::close, "matrix") || cells.empty() || row != 0) return std::nullopt;
  return make(NodeKind::matrix, std::to_string(columns), std::move(cells));
}

}  // namespace relaygen::eval
