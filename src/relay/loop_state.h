// Everything that the loop derives from the token log, as one value. A copy is a snapshot: dropping a provisional token
// means going back to the copy from before it.
#pragma once

#include <cstdint>
#include <optional>

#include "relaygen/cues.h"
#include "relaygen/phase.h"
#include "relaygen/relay.h"
#include "relaygen/sentence.h"

namespace relaygen {

/// A small segment inside the thinking that the large model opened.
struct Handoff {
  std::uint64_t token = 0;    ///< log index of its first token
  std::uint64_t byte = 0;     ///< offset of that token in the text
  std::uint64_t cue_end = 0;  ///< where the cue (or, for the random control, the sentence before) ended
  SwitchReason why = SwitchReason::cue;
  std::optional<std::uint32_t> cue;
  bool confirmed = false;  ///< the character after the cue (or full stop) is known and allows the handoff
};

struct LoopState {
  PhaseTracker phase;
  CueMatcher cues;
  SentenceEnds sentences;
  Model leader = Model::large;
  std::optional<Handoff> handoff;         ///< set while the small model writes a segment of the thinking
  std::uint64_t bytes = 0;                ///< length of the generated text
  std::uint64_t large_segment_token = 0;  ///< log index where the current large segment began
  std::uint64_t large_segment_byte = 0;
  std::uint64_t sentence_end = 0;  ///< the last sentence end that is certain
  std::optional<std::uint64_t>
      refused_at;                     ///< no handoff at this byte again: the small model showed that it is no boundary
  std::uint64_t thinking_tokens = 0;  ///< generated ones
  std::uint64_t answer_tokens = 0;
  std::uint64_t sentence_starts = 0;  ///< places where the random control may hand over
};

}  // namespace relaygen
