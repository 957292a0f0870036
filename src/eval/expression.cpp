#include "eval/expression.h"

#include <algorithm>
#include <map>

#include "eval/words.h"

namespace relaygen::eval {

std::optional<NodeId> Expression::add(NodeKind kind, std::string text, std::vector<NodeId> children) {
  std::uint8_t depth = 0;
  for (const NodeId child : children)
    depth = std::max<std::uint8_t>(depth, static_cast<std::uint8_t>(nodes_[child].depth + 1));
  if (depth > kMaxDepth) return std::nullopt;
  nodes_.push_back({kind, std::move(text), std::move(children), depth});
  return static_cast<NodeId>(nodes_.size() - 1);
}

bool Expression::fold_case() {
  std::map<std::string, std::string> written;  // by the folded name
  const auto folded = [](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(), lower);
    return name;
  };
  for (const Node& node : nodes_) {
    if (node.kind != NodeKind::variable) continue;
    if (written.emplace(folded(node.text), node.text).first->second != node.text) return false;
  }
  for (Node& node : nodes_) {
    if (node.kind == NodeKind::variable) node.text = folded(std::move(node.text));
  }
  return true;
}

bool same_shape(Part a, Part b) {
  const Node& left = a.node();
  const Node& right = b.node();
  if (left.kind != right.kind || left.text != right.text || left.children.size() != right.children.size()) return false;
  if (left.kind == NodeKind::plus_minus && a.sign != b.sign) return false;
  for (std::size_t i = 0; i < left.children.size(); ++i) {
    if (!same_shape(a.child(i), b.child(i))) return false;
  }
  return true;
}

bool holds(Part part, NodeKind kind, std::string_view text) {
  const Node& node = part.node();
  if (node.kind == kind && (text.empty() || node.text == text)) return true;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (holds(part.child(i), kind, text)) return true;
  }
  return false;
}

}  // namespace relaygen::eval
