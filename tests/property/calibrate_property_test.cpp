// What a calibration takes for handoffs is what the relay's rules for a whole text say.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "calibrate/occurrences.h"
#include "relaygen/segment.h"

namespace relaygen::calibrate {
namespace {

const std::vector<std::string> kCues{"So,", "so,", "So", "Thus", "Thus, the", "now"};
const std::vector<std::string> kPieces{"So,",   " so,", "So ", "Thus", ",",    " the",    " now",
                                       " know", ".",    "!",   "?",    "\n\n", "\n",      " 3.5",
                                       " e.g.", " $x$", "...", " a",   "So.",  "</think>"};

// One token a byte: what the rules say about bytes they say about tokens.
Trace spelled(const std::string& text) {
  Trace trace{.key = {"p", 0}, .prompt = {0}, .prompt_state = PromptState::thinking, .text = text};
  for (std::uint32_t i = 0; i < text.size(); ++i) {
    trace.tokens.push_back(text[i]);
    trace.ends.push_back(i + 1);
  }
  return trace;
}

void handoffs_are_those_of_the_segmented_text() {
  std::string text;
  for (const auto i : *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, kPieces.size())))
    text += kPieces[i];
  const auto chosen = *rc::gen::container<std::vector<bool>>(kCues.size(), rc::gen::arbitrary<bool>());
  std::vector<Cue> all, some;
  for (std::size_t i = 0; i < kCues.size(); ++i) {
    all.push_back({kCues[i], true});
    some.push_back({kCues[i], chosen[i]});
  }
  const ThinkingTags tags{"", {"</think>"}};
  const Trace trace = spelled(text);
  const Extent extent = extent_of(trace, tags);
  const CueSet candidates = *CueSet::build(all), profile = *CueSet::build(some);

  std::vector<Stretch> expected, found;
  for (const TextSegment& segment : segment_text(text, profile, {.tags = tags}).segments) {
    if (segment.author != Author::small || segment.phase != Phase::thinking) continue;
    // The end tag belongs to the thinking, and is nothing that a calibration looks at.
    const auto end = std::min<std::uint64_t>(segment.end, extent.thinking_end);
    if (segment.begin < end)
      expected.push_back({static_cast<std::uint32_t>(segment.begin), static_cast<std::uint32_t>(end)});
  }
  for (const Occurrence& one : handoffs_of(find_occurrences(trace, extent, candidates, 0), chosen, 0))
    found.push_back(one.after);
  RC_CLASSIFY(expected.empty(), "without handoffs");
  RC_ASSERT(found == expected);
}

TEST(CalibrateHandoffs, AreThoseOfTheSegmentedText) {
  EXPECT_TRUE(rc::check(handoffs_are_those_of_the_segmented_text));
}

}  // namespace
}  // namespace relaygen::calibrate
