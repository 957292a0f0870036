// Where candidates stand in traces, and what the small model would write there. Pure; by the runtime's own matcher and
// sentence detector.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/trace.h"
#include "relaygen/cues.h"

namespace relaygen::calibrate {

/// Tokens of a trace, half-open.
struct Stretch {
  std::uint32_t first = 0, last = 0;
  [[nodiscard]] std::uint32_t size() const { return last - first; }
  bool operator==(const Stretch&) const = default;
};

/// A candidate in the thinking of a trace.
struct Occurrence {
  std::uint32_t cue = 0;             ///< index into the CueSet
  std::uint32_t begin = 0, end = 0;  ///< bytes of the candidate in the text
  Stretch after{};                   ///< what a small model that takes over here writes: up to the token that ends
                                     ///< the sentence; not empty
};

/// Every place where a selected candidate fires and at least one token of the thinking follows, in order. Each is looked
/// at as if it were the only one. `most_tokens` caps what follows (0: no cap).
[[nodiscard]] std::vector<Occurrence> find_occurrences(const Trace& trace, const Extent& extent, const CueSet& cues,
                                                       std::uint32_t most_tokens);

/// Sentences of the thinking, each without its first word: what stands behind something that is no cue.
[[nodiscard]] std::vector<Stretch> sentence_tails(const Trace& trace, const Extent& extent, Rules rules);

/// Which of these places the relay would take: in order, a cue counts once the large model wrote `min_large_tokens`, and
/// what stands in a small segment does not. Only cues for which `selected` says so.
[[nodiscard]] std::vector<Occurrence> handoffs_of(std::span<const Occurrence> occurrences,
                                                  const std::vector<bool>& selected, std::uint32_t min_large_tokens);

}  // namespace relaygen::calibrate
