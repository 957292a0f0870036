// Finding cues in a text that arrives in pieces.
//
// The automaton says, at each byte, which stems end there. Whether such an occurrence [b, e) fires depends on both of
// its sides and on the other candidates:
//
//  * Left. A shift register holds for each of the last 64 bytes whether a word may start after it, so "the character
//    before b is no word character" is bit e - b. Cues have at most 63 bytes for that reason.
//  * Right. The next character says whether the word goes on and whether a space follows. Until it is known the
//    occurrence is *pending*; afterwards it is *resolved* to the variant that it is (with or without the trailing
//    space), or refused.
//  * Candidates that contain it. An occurrence that is certainly valid removes all those strictly inside it. One that
//    could still be contained in a longer candidate must wait. Which could still come? The automaton's state is the
//    longest suffix of the text that begins a stem, and its failure links give all shorter ones; a suffix of at least
//    position - b bytes that has children in the trie, and whose left side is a boundary, may become a longer valid
//    occurrence; if there is none, none can come, because any longer occurrence would have to be such a suffix now.
//
// The work is done a whole character at a time, since both sides are questions about characters: (a) the character
// resolves the right side of the occurrences that end before it, (b) the automaton reads its bytes, (c) the stems that
// end after it are collected, (d) whatever is decided leaves the list. Of two occurrences decided at different times
// the one decided first ends first: as long as the earlier waits for a candidate that would contain it, a later one
// that does not contain the earlier lies inside the same candidate and waits too.
#include <algorithm>

#include "core/cue_automaton.h"
#include "core/unicode.h"

namespace relaygen {
namespace {

// What follows an occurrence, as far as it matters.
enum Follower : std::uint8_t { kSpace, kWord, kOther, kEnd };

Follower follower_of(char32_t next) {
  if (next == U' ') return kSpace;
  if (unicode::is_word(next) || next == U'\'' || next == U'\u2019') return kWord;
  return kOther;
}

// The candidate that an occurrence of `stem` is before this follower; Automaton::kNone where it is not valid.
std::uint32_t variant(const CueSet::Automaton::Stem& stem, std::uint8_t follower) {
  if (follower == kSpace && stem.spaced != CueSet::Automaton::kNone) return stem.spaced;
  if (follower == kWord && stem.ends_word) return CueSet::Automaton::kNone;
  return stem.plain;
}

}  // namespace

void CueMatcher::feed(const CueSet& cues, std::string_view bytes, std::vector<CueMatch>& fired) {
  const CueSet::Automaton& automaton = cues.automaton();
  if (automaton.rules == Rules::published) return feed_published(cues, bytes, fired);
  for (std::size_t i = 0; i < bytes.size();) {
    if (partial_size_ == 0 && pending_.empty()) {
      i += skim(automaton, bytes.substr(i));
      if (!pending_.empty()) decide(cues, false, fired);
      if (i == bytes.size()) return;
    }
    const char byte = bytes[i++];
    if (static_cast<unsigned char>(byte) < 0x80 && partial_size_ == 0) {
      feed_character(cues, std::string_view(&byte, 1), static_cast<unsigned char>(byte), fired);
    } else {
      unicode::push_byte(partial_, partial_size_, byte, [&](std::string_view whole, char32_t character) {
        feed_character(cues, whole, character, fired);
      });
    }
  }
}

// By far the most frequent case, ASCII with nothing pending, in one tight loop: reads up to the first byte that is not
// ASCII or after which a stem ends (that one is read too). Returns how many bytes it read.
std::size_t CueMatcher::skim(const CueSet::Automaton& automaton, std::string_view bytes) {
  const CueSet::Automaton::State* const states = automaton.states.data();
  std::uint32_t state = state_;
  std::uint64_t bits = boundary_bits_;
  std::size_t i = 0;
  bool stem_ends = false;
  while (i < bytes.size() && !stem_ends) {
    const auto value = static_cast<unsigned char>(bytes[i]);
    if (value >= 0x80) break;
    state = automaton.step(state, bytes[i]);
    bits = (bits << 1) | (unicode::is_word(value) ? 0u : 1u);
    ++i;
    stem_ends = states[state].output != CueSet::Automaton::kRoot;
  }
  state_ = state;
  boundary_bits_ = bits;
  whole_ += i;
  if (stem_ends) collect(automaton);
  return i;
}

void CueMatcher::feed_published(const CueSet& cues, std::string_view bytes, std::vector<CueMatch>& fired) {
  const CueSet::Automaton& automaton = cues.automaton();
  for (const char byte : bytes) {
    state_ = automaton.step(state_, byte);
    ++whole_;
    const std::uint32_t output = automaton.states[state_].output;
    if (output == CueSet::Automaton::kRoot) continue;
    const CueSet::Automaton::Stem& stem = automaton.stems[automaton.states[output].stem];
    fired.push_back({stem.plain, whole_ - stem.length, whole_});
  }
}

void CueMatcher::feed_character(const CueSet& cues, std::string_view bytes, char32_t character,
                                std::vector<CueMatch>& fired) {
  const CueSet::Automaton& automaton = cues.automaton();
  if (!pending_.empty()) resolve_right(automaton, follower_of(character));
  for (const char byte : bytes) state_ = automaton.step(state_, byte);
  boundary_bits_ = (boundary_bits_ << bytes.size()) | (unicode::is_word(character) ? 0u : 1u);
  whole_ += bytes.size();
  collect(automaton);
  if (!pending_.empty()) decide(cues, false, fired);
}

void CueMatcher::finish(const CueSet& cues, std::vector<CueMatch>& fired) {
  unicode::finish_bytes(partial_, partial_size_, [&](std::string_view whole, char32_t character) {
    feed_character(cues, whole, character, fired);
  });
  if (pending_.empty()) return;
  resolve_right(cues.automaton(), kEnd);
  decide(cues, true, fired);
}

void CueMatcher::restart() noexcept {
  whole_ += partial_size_;
  partial_size_ = 0;
  state_ = 0;
  boundary_bits_ = ~0ULL;
  pending_.clear();
}

void CueMatcher::resolve_right(const CueSet::Automaton& automaton, std::uint8_t follower) {
  std::erase_if(pending_, [&](Pending& p) {
    if (p.resolved) return false;
    p.cue = variant(automaton.stems[p.stem], follower);
    p.resolved = p.cue != CueSet::Automaton::kNone;
    return !p.resolved;
  });
  drop_dominated(automaton);
}

void CueMatcher::collect(const CueSet::Automaton& automaton) {
  const std::size_t before = pending_.size();
  for (std::uint32_t s = automaton.states[state_].output; s != CueSet::Automaton::kRoot;
       s = automaton.states[automaton.states[s].fail].output) {
    const std::uint32_t index = automaton.states[s].stem;
    const CueSet::Automaton::Stem& stem = automaton.stems[index];
    if (stem.starts_word && ((boundary_bits_ >> stem.length) & 1) == 0) continue;
    const bool resolved = stem.certain() && stem.spaced == CueSet::Automaton::kNone;
    pending_.push_back({whole_ - stem.length, whole_, index, stem.plain, resolved});
  }
  if (pending_.size() > before) drop_dominated(automaton);
}

void CueMatcher::drop_dominated(const CueSet::Automaton& automaton) {
  if (pending_.size() < 2) return;
  // In place: a removed occurrence may go on removing, since whatever it contains lies in its own container too.
  std::vector<Pending>& all = pending_;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Pending p = all[i];
    const auto contains = [&](const Pending& q) {
      return q.begin <= p.begin && q.end >= p.end && q.end - q.begin > p.end - p.begin &&
             (q.resolved || automaton.stems[q.stem].certain());
    };
    // Ascending end, longest first: what contains p with the same end stands before it, with a later end after it.
    const bool dominated =
        std::any_of(all.begin(), all.begin() + kept, contains) || std::any_of(all.begin() + i + 1, all.end(), contains);
    if (!dominated) all[kept++] = p;
  }
  all.resize(kept);
}

bool CueMatcher::longer_may_come(const CueSet::Automaton& automaton, std::uint64_t begin) const {
  std::uint32_t s = state_;
  while (s != CueSet::Automaton::kRoot && automaton.states[s].depth >= whole_ - begin) {
    const CueSet::Automaton::State& state = automaton.states[s];
    if (state.has_children && (!state.starts_word || ((boundary_bits_ >> state.depth) & 1) != 0)) return true;
    s = state.fail;
  }
  return false;
}

void CueMatcher::decide(const CueSet& cues, bool at_end, std::vector<CueMatch>& fired) {
  const CueSet::Automaton& automaton = cues.automaton();
  const auto waits = [&](const Pending& p) {
    const bool inside_unresolved = std::any_of(pending_.begin(), pending_.end(), [&](const Pending& q) {
      return !q.resolved && q.begin <= p.begin && q.end >= p.end && q.end - q.begin > p.end - p.begin;
    });
    return inside_unresolved || (!at_end && longer_may_come(automaton, p.begin));
  };
  // Resolved and not selected: it has removed what it contains, and nothing more is expected of it.
  std::erase_if(pending_, [&](const Pending& p) { return p.resolved && !automaton.cues[p.cue].selected; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Pending p = pending_[i];
    if (!p.resolved || waits(p)) {
      pending_[kept++] = p;
    } else {
      fired.push_back({p.cue, p.begin, p.end});
    }
  }
  pending_.resize(kept);
}

bool CueMatcher::may_fire_at_frontier(const CueSet& cues) const {
  const CueSet::Automaton& automaton = cues.automaton();
  // For each thing that may follow: the longest occurrence that it makes valid is the one that decides, and the text
  // may always go on in a way (or end) that no longer candidate matches.
  for (const Follower follower : {kSpace, kWord, kOther}) {
    if (follower == kSpace && partial_size_ > 0) continue;  // the first byte of what follows is there: not a space
    for (const Pending& p : pending_) {
      if (p.end != whole_) continue;
      const std::uint32_t cue = p.resolved ? p.cue : variant(automaton.stems[p.stem], follower);
      if (cue == CueSet::Automaton::kNone) continue;
      if (automaton.cues[cue].selected) return true;
      break;
    }
  }
  return false;
}

bool CueMatcher::may_fire_here(const CueSet& cues) const {
  return partial_size_ == 0 && !pending_.empty() && may_fire_at_frontier(cues);
}

bool CueMatcher::undecided(const CueSet& cues, std::uint64_t end) const {
  if (pending_.empty() || end > whole_) return false;
  if (end == whole_) return may_fire_at_frontier(cues);
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& p) { return p.end == end; });
}

}  // namespace relaygen
