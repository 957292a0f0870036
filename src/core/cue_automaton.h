// The Aho-Corasick automaton over the candidates of a profile.
//
// What it recognises are *stems*: under the exact rules a candidate without its one trailing space (that space is a
// condition on what follows, not part of the match), so that "So" and "So " share one stem with two variants; under
// the published rules the raw string of each selected cue. A trie over the stems has a failure link at each state to
// the state of its longest proper suffix that is in the trie. Read a byte: go to the child, or else try the failure
// state. The state reached is the longest suffix of the text that begins some stem, and the stems that end here are
// found along the failure links, longest first.
//
// Memory is bounded whatever the profile: only states with several children (fewer than there are stems) and the root
// hold a full row of transitions, indexed by byte class, with the failures already followed. All others hold their one
// child; a byte that misses it costs a step along a failure link, and each such step was paid for by the byte that
// made the state deeper, so a byte costs amortised O(1).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"

namespace relaygen {

struct CueSet::Automaton {
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  static constexpr std::uint32_t kRoot = 0;

  struct Stem {
    std::uint32_t plain = kNone;   // cue without a condition on what follows: index into `cues`
    std::uint32_t spaced = kNone;  // cue that must be followed by U+0020
    std::uint8_t length = 0;       // bytes
    bool starts_word = false;      // its first / last character is a word character
    bool ends_word = false;

    /// Valid whatever follows (which of the two variants it is may still depend on it).
    [[nodiscard]] bool certain() const noexcept { return plain != kNone && !ends_word; }
  };

  struct State {
    std::uint32_t row = kNone;    // first of its transitions in `rows`, or kNone
    std::uint32_t child = kNone;  // its only child, where it has no row
    std::uint32_t fail = kRoot;
    std::uint32_t stem = kNone;    // the stem that this state spells
    std::uint32_t output = kRoot;  // nearest state along the failure links, itself included, that spells a stem
    std::uint8_t child_class = kNoClass;
    std::uint8_t depth = 0;  // bytes
    bool has_children = false;
    bool starts_word = false;  // the first character is a word character
  };

  static constexpr std::uint8_t kNoClass = 0xFF;  // no byte has it: UTF-8 uses fewer than 255 byte values

  [[nodiscard]] std::uint32_t step_class(std::uint32_t state, std::uint8_t byte_class) const noexcept {
    for (;;) {
      const State& s = states[state];
      if (s.row != kNone) return rows[s.row + byte_class];
      if (s.child_class == byte_class) return s.child;
      state = s.fail;
    }
  }

  [[nodiscard]] std::uint32_t step(std::uint32_t state, char byte) const noexcept {
    return step_class(state, class_of[static_cast<unsigned char>(byte)]);
  }

  void add_stem(std::string_view bytes, bool followed_by_space, std::uint32_t cue);  // before link()
  void link();                                                                       // once, after the last stem

  std::vector<Cue> cues;
  Rules rules = Rules::exact;
  std::vector<Stem> stems;
  std::vector<State> states{State{}};
  std::vector<std::uint32_t> rows;
  std::array<std::uint8_t, 256> class_of{};  // 0: in no stem
  std::uint32_t class_count = 1;

 private:
  struct Edge {  // children of a state while the trie grows
    std::uint32_t to;
    std::uint32_t next;  // the next child of the same state
    std::uint8_t byte_class;
  };
  [[nodiscard]] std::uint32_t child_of(std::uint32_t state, std::uint8_t byte_class) const;

  std::vector<Edge> edges_;
  std::vector<std::uint32_t> first_edge_{kNone};  // of each state
};

}  // namespace relaygen
