// An answer as a tree. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relaygen::eval {

enum class NodeKind : std::uint8_t {
  number,      ///< text: canonical digits; "0.(3)" repeats
  constant,    ///< text: "pi", "e", "i", "infinity"
  variable,    ///< text: its name, with its subscript
  words,       ///< text: lower case, without spaces
  based,       ///< digits in a base: text: digits, '_', base
  sum,         ///< of all children
  product,     ///< of all children; text "unit": a value and a letter that may be its unit ("5 m")
  inverse,     ///< 1 / child
  negative,    ///< -child
  power,       ///< base, exponent
  root,        ///< radicand, index
  function,    ///< text: its name; children: arguments (log: argument, base)
  factorial,   ///< child!
  binomial,    ///< n, k
  plus_minus,  ///< text "+": +-child; "-": -+child
  percent,     ///< child per hundred
  list,        ///< "a, b" in no order; text "set" where it was written as a set
  tuple,       ///< ordered; text: the brackets, "()", "[)", "<>", ...
  matrix,      ///< text: columns; children: cells by rows
  set_union,   ///< of all children
  operation,   ///< text: its name; what is only compared part by part
  relation,    ///< text: one character for each sign (tokens.h); one child more than signs
};

using NodeId = std::uint32_t;

struct Node {
  NodeKind kind = NodeKind::number;
  std::string text{};
  std::vector<NodeId> children{};
  std::uint8_t depth = 0;
};

/// The nodes of a tree. A child is always older than its parent, and no tree is deeper than kMaxDepth.
class Expression {
 public:
  static constexpr std::uint8_t kMaxDepth = 100;

  /// Nothing: the tree would be too deep.
  std::optional<NodeId> add(NodeKind kind, std::string text, std::vector<NodeId> children = {});
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] Node& operator[](NodeId id) { return nodes_[id]; }

  /// Variables in lower case. False, and nothing is changed: there are two that differ only in their case.
  bool fold_case();

  NodeId root = 0;

 private:
  std::vector<Node> nodes_;
};

/// LaTeX or plain text as a tree. Nothing where it is no mathematics, nor words.
[[nodiscard]] std::optional<Expression> parse(std::string_view text);

/// A part of a tree. `sign` stands for +- in it: 1, -1, or 0 where both are meant.
struct Part {
  const Expression* tree = nullptr;
  NodeId id = 0;
  int sign = 0;

  [[nodiscard]] const Node& node() const { return (*tree)[id]; }
  [[nodiscard]] Part child(std::size_t index) const { return {tree, node().children[index], sign}; }
};

/// Whether the two trees are drawn alike.
[[nodiscard]] bool same_shape(Part a, Part b);
/// Whether a node of this kind (and, if not empty, this text) is in it.
[[nodiscard]] bool holds(Part part, NodeKind kind, std::string_view text = {});

}  // namespace relaygen::eval
