// Cues: the discourse markers after which the small model may write, and the matcher that finds them.
//
// Meaning (exact rules). Let a *candidate* be any string of the profile, selected or only known.
//  * A cue is a word: the character before it is no word character (unless the cue itself starts with none), and the
//    character after it does not continue the word (unless the cue ends with a character that is no word character).
//    Word characters are Unicode letters, marks and digits, and '_'; on the right an apostrophe continues the word too.
//    The start and the end of the text are boundaries.
//  * A trailing space of a candidate means "followed by a space (U+0020)": the space is a condition, not part of the
//    match, so that the next word, which carries that space in its token, belongs to whoever writes it.
//  * The most specific candidate decides. An occurrence is dominated when another valid occurrence strictly contains
//    it; of the same letters with and without the trailing space, the one with it is the more specific. A cue *fires*
//    at every valid, undominated occurrence of a selected candidate. "Now," known and not selected: "Now" does not
//    fire there.
// Meaning (published rules). Every occurrence of a selected string fires as raw bytes: no boundaries, no specificity,
// trailing spaces included in the match. Reproduces the reference code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/error.h"

namespace relaygen {

/// exact: the rules of this project. published: the behaviour of the paper's reference code, for comparison.
enum class Rules : std::uint8_t { exact, published };

struct Cue {
  std::string text;      ///< UTF-8, 1 to kMaxCueBytes bytes, not only spaces, no line break
  bool selected = true;  ///< false: known to the profile, and decides against a handoff where it is the most specific
};

inline constexpr std::size_t kMaxCueBytes = 63;
inline constexpr std::size_t kMaxCues = 10'000;

/// An immutable automaton over all candidates of a profile (Aho-Corasick). Build once, share between any number of
/// matchers and threads. Copying is cheap (shared ownership). Default-constructed: the empty list.
class CueSet {
 public:
  /// Errors: bad_profile with the offending cue named (empty or only spaces, too long, not UTF-8, with a line break, a
  /// duplicate whose `selected` differs) or their number (too many). An empty list is fine: nothing ever fires. Of
  /// equal cues the first is the one that fires.
  [[nodiscard]] static Result<CueSet> build(std::span<const Cue> cues, Rules rules = Rules::exact);

  [[nodiscard]] std::span<const Cue> cues() const noexcept;  ///< as given to build
  [[nodiscard]] Rules rules() const noexcept;

  struct Automaton;  // src/core/cue_automaton.h
  [[nodiscard]] const Automaton& automaton() const noexcept { return *automaton_; }

 private:
  static std::shared_ptr<const Automaton> no_cues();

  std::shared_ptr<const Automaton> automaton_ = no_cues();  // never null
};

/// A cue that fired.
struct CueMatch {
  std::uint32_t cue = 0;    ///< index into CueSet::cues()
  std::uint64_t begin = 0;  ///< byte offset of its first byte in the text fed so far
  std::uint64_t end = 0;    ///< one past its last byte, a trailing space excluded (exact) or included (published)
};

/// The state of matching one text. A value: copy it to take a snapshot. Feeding costs amortised O(1) a byte however
/// many cues there are. Not thread-safe by itself; distinct objects are independent.
class CueMatcher {
 public:
  /// Appends bytes (any split, also inside a UTF-8 character; invalid bytes count as symbols) and appends the cues
  /// whose firing is now certain to `fired`, in order of their end. A match may become certain only some bytes after
  /// its end.
  void feed(const CueSet& cues, std::string_view bytes, std::vector<CueMatch>& fired);

  /// Forgets what was matched so far: a cue that fires later begins here or after. Positions go on.
  void restart() noexcept;

  /// The text ends here: what waited for its next character is decided. Feed no more afterwards.
  void finish(const CueSet& cues, std::vector<CueMatch>& fired);

  /// True when, depending on what follows, a selected cue that ends exactly at the current position may still fire.
  [[nodiscard]] bool may_fire_here(const CueSet& cues) const;

  /// True while a selected cue that ends exactly at byte `end` may still fire (it neither fired nor was refused).
  [[nodiscard]] bool undecided(const CueSet& cues, std::uint64_t end) const;

  /// Bytes fed so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return whole_ + partial_size_; }

 private:
  struct Pending {  // an occurrence that neither fired nor was refused
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t stem;  // of the automaton
    std::uint32_t cue;   // the candidate that it turned out to be, once `resolved`
    bool resolved;       // what follows is known, or does not matter, and allows it
  };

  std::size_t skim(const CueSet::Automaton& automaton, std::string_view bytes);
  void feed_published(const CueSet& cues, std::string_view bytes, std::vector<CueMatch>& fired);
  void feed_character(const CueSet& cues, std::string_view bytes, char32_t character, std::vector<CueMatch>& fired);
  void resolve_right(const CueSet::Automaton& automaton, std::uint8_t follower);
  void collect(const CueSet::Automaton& automaton);
  void drop_dominated(const CueSet::Automaton& automaton);
  void decide(const CueSet& cues, bool at_end, std::vector<CueMatch>& fired);
  bool longer_may_come(const CueSet::Automaton& automaton, std::uint64_t begin) const;
  bool may_fire_at_frontier(const CueSet& cues) const;

  std::uint64_t whole_ = 0;              // bytes of whole characters fed
  std::uint64_t boundary_bits_ = ~0ull;  // bit i: a word may start i bytes before whole_
  std::uint32_t state_ = 0;              // of the automaton, after whole_ bytes
  std::uint8_t partial_size_ = 0;
  char partial_[4] = {};          // bytes of a character that is not complete yet
  std::vector<Pending> pending_;  // ascending end, longest first; almost always empty
};

}  // namespace relaygen
