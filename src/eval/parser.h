// Recursive descent over the tokens of an answer. Internal: parse() in expression.h is the way in.
//
// From loose to tight: list, relation, operand, ratio, sum, product, sign, power, postfix, primary. The depth of the
// recursion is bounded; what is deeper is no answer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/expression.h"
#include "eval/tokens.h"

namespace relaygen::eval {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::optional<Expression> run();

 private:
  using Parsed = std::optional<NodeId>;

  // Counts the calls that are open.
  class Nesting {
   public:
    explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    [[nodiscard]] bool too_deep() const { return depth_ > kMaxNesting; }

   private:
    static constexpr int kMaxNesting = 100;
    int& depth_;
  };

  // What brackets shut out: bars opened outside, the head of a set.
  class Enclosed {
   public:
    explicit Enclosed(Parser& parser) : parser_(parser), bars_(parser.bars_), set_head_(parser.set_head_) {
      parser_.bars_ = 0;
      parser_.set_head_ = false;
    }
    ~Enclosed() {
      parser_.bars_ = bars_;
      parser_.set_head_ = set_head_;
    }
    Enclosed(const Enclosed&) = delete;
    Enclosed& operator=(const Enclosed&) = delete;

   private:
    Parser& parser_;
    int bars_;
    bool set_head_;
  };

  [[nodiscard]] const Token& token(std::size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  [[nodiscard]] bool at(TokenKind kind, std::string_view text = {}) const {
    return token().kind == kind && (text.empty() || token().text == text);
  }
  [[nodiscard]] bool ahead(std::size_t distance, TokenKind kind) const { return token(distance).kind == kind; }
  bool take(TokenKind kind, std::string_view text = {}) {
    if (!at(kind, text)) return false;
    ++next_;
    return true;
  }

  Parsed make(NodeKind kind, std::string text, std::vector<NodeId> children = {}) {
    return tree_.add(kind, std::move(text), std::move(children));
  }
  Parsed make(NodeKind kind, Parsed child, std::string text = {}) {
    return child ? tree_.add(kind, std::move(text), {*child}) : std::nullopt;
  }
  Parsed number(std::string digits) { return make(NodeKind::number, std::move(digits)); }
  Parsed divided(Parsed top, Parsed bottom);

  // parser.cpp
  Parsed list();
  Parsed relation();
  Parsed operand();
  Parsed difference();
  Parsed words();
  Parsed units(Parsed value);
  Parsed ratio();
  Parsed sum();
  Parsed product();
  Parsed signed_power();
  Parsed power();
  Parsed exponent();
  Parsed degrees(Parsed value);
  Parsed postfix(Parsed value);
  Parsed signed_value(TokenKind sign, Parsed value);
  [[nodiscard]] bool ends() const;
  [[nodiscard]] bool at_sign() const;
  [[nodiscard]] bool starts_primary() const;
  [[nodiscard]] bool unit_letter(std::size_t begin) const;

  // primaries.cpp
  Parsed primary();
  Parsed numeral();
  Parsed mixed_number(const Token& whole);
  Parsed variable();
  Parsed argument();
  Parsed fraction();
  Parsed binomial();
  Parsed root();
  Parsed reals();
  Parsed function();
  Parsed function_argument();
  Parsed apply(std::string name, Parsed argument, Parsed base);
  Parsed group();
  Parsed brackets();
  Parsed set();
  Parsed bars();
  Parsed enclosed(std::string_view close, std::string function);
  Parsed matrix();
  std::string subscript();

  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int nesting_ = 0;
  int bars_ = 0;           // open |
  int functions_ = 0;      // inside the argument of a function
  bool set_head_ = false;  // before the bar of {x | ...}
  Expression tree_;
};

}  // namespace relaygen::eval
