// Where handoffs would fall in a text that already exists: the relay's rules without a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"
#include "relaygen/phase.h"

namespace relaygen {

/// What ended a segment.
enum class SegmentEnd : std::uint8_t { cue, sentence_end, phase, cap, end };

[[nodiscard]] std::string_view name(SegmentEnd why);

struct TextSegment {
  std::uint64_t begin = 0;  ///< byte offsets, half-open; consecutive segments cover the text without gap
  std::uint64_t end = 0;
  Author author = Author::large;  ///< large or small
  Phase phase = Phase::thinking;
  std::optional<std::uint32_t> cue{};  ///< what opened a small segment: index into the CueSet; none for the answer
  SegmentEnd why = SegmentEnd::end;    ///< what ended it; the last segment: `end`
};

struct SegmentOptions {
  std::uint32_t min_large_words = 0;  ///< a cue counts once the large segment holds this many words, the cue's included
  std::uint32_t max_small_words = 0;  ///< a small segment is cut after this many words; 0: no cap
  Author answer_by = Author::small;   ///< who writes the answer
  ThinkingTags tags{"<think>", {"</think>"}};
};

struct Segmentation {
  std::vector<TextSegment> segments{};  ///< empty for an empty text
  std::uint64_t handoffs = 0;           ///< large to small, the one at the answer included
  double share_thinking = 0;            ///< small bytes / bytes, of the thinking; 0 where there is none
  double share_answer = 0;
  double share_all = 0;
};

/// Segments one text. A text without an end tag counts as thinking, and the end tag itself belongs to the thinking.
///  * The large model writes first. A handoff is at the end of the first cue that fires with its end inside the large
///    segment, in the thinking before the end tag, and with at least min_large_words in the segment up to there.
///    (Published rules: the cue must stand in the large segment as a whole, since the reference code looks at no more.)
///  * The small segment ends at the first sentence end after the handoff, the cap or the end of the thinking. Cues in it
///    do nothing.
///  * The answer is one segment.
///  * A segment is never empty: a cue that is the last thing of the text opens none.
/// A word is a run of bytes other than ASCII white space. Pure; O(bytes).
[[nodiscard]] Segmentation segment_text(std::string_view text, const CueSet& cues, const SegmentOptions& options);

}  // namespace relaygen
