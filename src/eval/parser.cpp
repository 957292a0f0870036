#include "eval/parser.h"

#include "eval/words.h"

namespace relaygen::eval {

std::optional<Expression> parse(std::string_view text) {
  auto tokens = tokenize(text);
  if (!tokens) return std::nullopt;
  return Parser(std::move(*tokens)).run();
}

std::optional<Expression> Parser::run() {
  const Parsed root = list();
  if (!root || !at(TokenKind::end)) return std::nullopt;
  tree_.root = *root;
  return std::move(tree_);
}

// --- lists and relations ----------------------------------------------------------------------------------------
Parser::Parsed Parser::list() {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return std::nullopt;
  std::vector<NodeId> items;
  for (;;) {
    while (take(TokenKind::separator)) {
    }
    if (ends()) break;
    const Parsed item = relation();
    if (!item) return std::nullopt;
    items.push_back(*item);
    if (!at(TokenKind::separator)) break;
  }
  if (items.empty()) return std::nullopt;
  if (items.size() == 1) return items[0];
  return make(NodeKind::list, "", std::move(items));
}

bool Parser::ends() const {
  return at(TokenKind::end) || at(TokenKind::close) || at(TokenKind::cell) || at(TokenKind::row) ||
         (at(TokenKind::bar) && (bars_ > 0 || set_head_));
}

Parser::Parsed Parser::relation() {
  while (take(TokenKind::relation, "=")) {  // "= 5", "\approx 5"
  }
  Parsed first = operand();
  if (!first || !at(TokenKind::relation)) return first;
  std::vector<NodeId> sides{*first};
  std::string signs;
  while (at(TokenKind::relation)) {
    signs += token().text;
    ++next_;
    const Parsed side = operand();
    if (!side) return std::nullopt;
    sides.push_back(*side);
  }
  return make(NodeKind::relation, signs, std::move(sides));
}

Parser::Parsed Parser::operand() {
  while (at(TokenKind::word) && is_filler(token().text) && !ahead(1, TokenKind::end)) ++next_;
  if (at(TokenKind::word)) return words();
  std::vector<NodeId> parts;
  for (;;) {
    const Parsed part = difference();
    if (!part) return std::nullopt;
    parts.push_back(*part);
    if (!take(TokenKind::set_union)) break;
  }
  Parsed whole = parts.size() == 1 ? Parsed(parts[0]) : make(NodeKind::set_union, "", std::move(parts));
  return units(whole);
}

Parser::Parsed Parser::difference() {
  Parsed left = ratio();
  while (left && at(TokenKind::set_operation)) {
    std::string name = token().text;
    ++next_;
    const Parsed right = ratio();
    if (!right) return std::nullopt;
    left = make(NodeKind::operation, std::move(name), {*left, *right});
  }
  return left;
}

// Words up to a separator, with the numbers and letters among them: "no solution", "quadrant II".
Parser::Parsed Parser::words() {
  std::string text;
  while (at(TokenKind::word) || at(TokenKind::variable) || at(TokenKind::constant) || at(TokenKind::number) ||
         at(TokenKind::minus)) {
    std::string piece = at(TokenKind::minus) ? "-" : token().text;
    std::transform(piece.begin(), piece.end(), piece.begin(), lower);
    text += piece;
    ++next_;
  }
  return make(NodeKind::words, text);
}

// "5 cm^2", "3 m / s", "2 million dollars": what follows a value in words is left out, or multiplies it.
Parser::Parsed Parser::units(Parsed value) {
  if (!value || !at(TokenKind::word)) return value;
  while (at(TokenKind::word) || at(TokenKind::divide) || at(TokenKind::power) || at(TokenKind::degree) ||
         at(TokenKind::times) || at(TokenKind::minus) || at(TokenKind::variable)) {
    if (take(TokenKind::power)) {
      if (!exponent()) return std::nullopt;
      continue;
    }
    if (at(TokenKind::word) && is_condition(token().text)) return std::nullopt;
    const auto zeros = at(TokenKind::word) ? multiplier(token().text) : std::nullopt;
    ++next_;
    if (!zeros) continue;
    const Parsed factor = number("1" + std::string(static_cast<std::size_t>(*zeros), '0'));
    if (!factor) return std::nullopt;
    value = make(NodeKind::product, "", {*value, *factor});
    if (!value) return std::nullopt;
  }
  return value;
}

// a : b is a quotient, a : b : c only a sequence.
Parser::Parsed Parser::ratio() {
  const Parsed first = sum();
  if (!first || set_head_ || !at(TokenKind::colon)) return first;
  std::vector<NodeId> parts{*first};
  while (take(TokenKind::colon)) {
    const Parsed part = sum();
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  if (parts.size() > 2) return make(NodeKind::tuple, "::", std::move(parts));
  return divided(parts[0], parts[1]);
}

// --- arithmetic -------------------------------------------------------------------------------------------------
bool Parser::at_sign() const {
  return at(TokenKind::plus) || at(TokenKind::minus) || at(TokenKind::plus_minus) || at(TokenKind::minus_plus);
}

Parser::Parsed Parser::signed_value(TokenKind sign, Parsed value) {
  if (sign == TokenKind::minus) return make(NodeKind::negative, value);
  if (sign == TokenKind::plus_minus) return make(NodeKind::plus_minus, value, "+");
  if (sign == TokenKind::minus_plus) return make(NodeKind::plus_minus, value, "-");
  return value;
}

Parser::Parsed Parser::sum() {
  std::vector<NodeId> terms;
  TokenKind sign = TokenKind::plus;
  if (at_sign()) {
    sign = token().kind;
    ++next_;
  }
  for (;;) {
    const Parsed term = signed_value(sign, product());
    if (!term) return std::nullopt;
    terms.push_back(*term);
    if (!at_sign() || (ahead(1, TokenKind::word) && !at(TokenKind::plus))) break;
    sign = token().kind;
    ++next_;
  }
  return terms.size() == 1 ? Parsed(terms[0]) : make(NodeKind::sum, "", std::move(terms));
}

bool Parser::starts_primary() const {
  switch (token().kind) {
    case TokenKind::number:
    case TokenKind::variable:
    case TokenKind::constant:
    case TokenKind::function:
    case TokenKind::open:
    case TokenKind::fraction:
    case TokenKind::binomial:
    case TokenKind::root: return true;
    case TokenKind::bar: return bars_ == 0 && !set_head_;
    default: return false;
  }
}

Parser::Parsed Parser::product() {
  std::vector<NodeId> factors;
  bool divide = false;
  bool unit = false;
  for (;;) {
    const std::size_t begin = next_;
    Parsed factor = signed_power();
    if (!factor) return std::nullopt;
    if (divide) factor = make(NodeKind::inverse, factor);
    if (!factor) return std::nullopt;
    factors.push_back(*factor);
    unit = factors.size() > 1 && !divide && unit_letter(begin);
    if ((at(TokenKind::divide) || at(TokenKind::times)) && !ahead(1, TokenKind::word)) {
      divide = at(TokenKind::divide);
      ++next_;
    } else if (starts_primary()) {
      if (at(TokenKind::number) && tokens_[next_ - 1].kind == TokenKind::number) return std::nullopt;
      divide = false;
    } else {
      break;
    }
  }
  if (factors.size() == 1) return factors[0];
  if (!unit) return make(NodeKind::product, "", std::move(factors));
  const NodeId letter = factors.back();
  factors.pop_back();
  const Parsed value = factors.size() == 1 ? Parsed(factors[0]) : make(NodeKind::product, "", std::move(factors));
  return value ? make(NodeKind::product, "unit", {*value, letter}) : std::nullopt;
}

// "5 m", "5 m^2" at the end of a value: the letter may be a unit.
bool Parser::unit_letter(std::size_t begin) const {
  const Token& name = tokens_[begin];
  return name.kind == TokenKind::variable && name.spaced && is_unit_letter(name.text) && begin > 0 &&
         (tokens_[begin - 1].kind == TokenKind::number || tokens_[begin - 1].kind == TokenKind::close) &&
         (at(TokenKind::end) || at(TokenKind::separator) || at(TokenKind::close));
}

Parser::Parsed Parser::signed_power() {
  TokenKind sign = TokenKind::plus;
  if (at_sign()) {
    const Nesting nesting(nesting_);
    if (nesting.too_deep()) return std::nullopt;
    sign = token().kind;
    ++next_;
    return signed_value(sign, signed_power());
  }
  return power();
}

Parser::Parsed Parser::power() {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return std::nullopt;
  Parsed base = postfix(primary());
  while (base && at(TokenKind::power)) {
    ++next_;
    if (take(TokenKind::degree)) {
      base = degrees(base);
    } else if (at(TokenKind::open, "{") && ahead(1, TokenKind::degree) && ahead(2, TokenKind::close)) {
      next_ += 3;
      base = degrees(base);
    } else {
      const Parsed up = exponent();
      if (!up) return std::nullopt;
      base = make(NodeKind::power, "", {*base, *up});
    }
    base = postfix(base);
  }
  return base;
}

// One number, letter or group, with its sign; 2^3^2 is 2^(3^2).
Parser::Parsed Parser::exponent() {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return std::nullopt;
  if (at(TokenKind::minus) || at(TokenKind::plus)) {
    const TokenKind sign = token().kind;
    ++next_;
    return signed_value(sign, exponent());
  }
  if (take(TokenKind::times)) return make(NodeKind::variable, "*");  // x^*
  const Parsed value = primary();
  if (!value || !at(TokenKind::power)) return value;
  ++next_;
  const Parsed up = exponent();
  if (!up) return std::nullopt;
  return make(NodeKind::power, "", {*value, *up});
}

// An angle in degrees is its number, but for the argument of a function.
Parser::Parsed Parser::degrees(Parsed value) {
  if (!value) return value;
  if (functions_ == 0) {
    if (at(TokenKind::variable, "C") || at(TokenKind::variable, "F")) ++next_;  // 25 degrees Celsius
    return value;
  }
  const Parsed pi = make(NodeKind::constant, "pi");
  const Parsed straight = number("180");
  const Parsed inverse = make(NodeKind::inverse, straight);
  if (!pi || !inverse) return std::nullopt;
  return make(NodeKind::product, "", {*value, *pi, *inverse});
}

Parser::Parsed Parser::postfix(Parsed value) {
  while (value) {
    if (take(TokenKind::factorial)) {
      value = make(NodeKind::factorial, value);
    } else if (take(TokenKind::percent)) {
      value = make(NodeKind::percent, value);
    } else if (take(TokenKind::degree)) {
      value = degrees(value);
    } else {
      break;
    }
  }
  return value;
}

}  // namespace relaygen::eval
