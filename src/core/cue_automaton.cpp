#include "core/cue_automaton.h"

#include "core/unicode.h"

namespace relaygen {
namespace {

bool first_is_word(std::string_view text) { return unicode::is_word(unicode::decode(text).character); }

bool last_is_word(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return unicode::is_word(unicode::decode(text.substr(begin)).character);
}

}  // namespace

std::uint32_t CueSet::Automaton::child_of(std::uint32_t state, std::uint8_t byte_class) const {
  for (std::uint32_t e = first_edge_[state]; e != kNone; e = edges_[e].next) {
    if (edges_[e].byte_class == byte_class) return edges_[e].to;
  }
  return kNone;
}

void CueSet::Automaton::add_stem(std::string_view bytes, bool followed_by_space, std::uint32_t cue) {
  const bool starts_word = first_is_word(bytes);
  std::uint32_t state = kRoot;
  for (const char c : bytes) {
    std::uint8_t& byte_class = class_of[static_cast<unsigned char>(c)];
    if (byte_class == 0) byte_class = static_cast<std::uint8_t>(class_count++);
    std::uint32_t to = child_of(state, byte_class);
    if (to == kNone) {
      to = static_cast<std::uint32_t>(states.size());
      State child;
      child.depth = static_cast<std::uint8_t>(states[state].depth + 1);
      child.starts_word = starts_word;
      states.push_back(child);
      edges_.push_back({to, first_edge_[state], byte_class});
      first_edge_[state] = static_cast<std::uint32_t>(edges_.size() - 1);
      first_edge_.push_back(kNone);
    }
    state = to;
  }
  if (states[state].stem == kNone) {
    states[state].stem = static_cast<std::uint32_t>(stems.size());
    Stem stem;
    stem.length = static_cast<std::uint8_t>(bytes.size());
    stem.starts_word = starts_word;
    stem.ends_word = last_is_word(bytes);
    stems.push_back(stem);
  }
  Stem& stem = stems[states[state].stem];
  std::uint32_t& variant = followed_by_space ? stem.spaced : stem.plain;
  if (variant == kNone) variant = cue;
}

void CueSet::Automaton::link() {
  // Breadth first, so that a state's failure state, which is shallower, is complete before the state itself.
  std::vector<std::uint32_t> queue{kRoot};
  queue.reserve(states.size());
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t at = queue[head];
    State& state = states[at];
    const std::uint32_t first = first_edge_[at];
    state.has_children = first != kNone;
    state.output = state.stem != kNone ? at : states[state.fail].output;
    for (std::uint32_t e = first; e != kNone; e = edges_[e].next) {
      states[edges_[e].to].fail = at == kRoot ? kRoot : step_class(state.fail, edges_[e].byte_class);
      queue.push_back(edges_[e].to);
    }
    if (at == kRoot || (first != kNone && edges_[first].next != kNone)) {
      const auto row = static_cast<std::uint32_t>(rows.size());
      rows.resize(rows.size() + class_count, kRoot);
      if (at != kRoot) {
        for (std::uint32_t c = 0; c < class_count; ++c)
          rows[row + c] = step_class(state.fail, static_cast<std::uint8_t>(c));
      }
      for (std::uint32_t e = first; e != kNone; e = edges_[e].next) rows[row + edges_[e].byte_class] = edges_[e].to;
      state.row = row;
    } else if (first != kNone) {
      state.child = edges_[first].to;
      state.child_class = edges_[first].byte_class;
    }
  }
  edges_ = {};
  first_edge_ = {};
}

}  // namespace relaygen
