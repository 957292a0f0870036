#include "relaygen/segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace relaygen {
namespace {

CueSet selected(const std::vector<std::string>& texts, Rules rules = Rules::exact) {
  std::vector<Cue> cues;
  for (const std::string& text : texts) cues.push_back({text, true});
  return CueSet::build(cues, rules).value();
}

// The segments as "L:text(why)" and "S:text(why)", one a line; answers as "l:" and "s:".
std::vector<std::string> described(std::string_view text, const CueSet& cues, const SegmentOptions& options = {}) {
  std::vector<std::string> lines;
  for (const TextSegment& s : segment_text(text, cues, options).segments) {
    const bool small = s.author == Author::small;
    std::string line(1, s.phase == Phase::thinking ? (small ? 'S' : 'L') : (small ? 's' : 'l'));
    line += ":" + std::string(text.substr(s.begin, s.end - s.begin)) + "(" + std::string(name(s.why)) + ")";
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(SegmentText, TheSmallModelWritesFromTheCueToTheSentenceEnd) {
  EXPECT_EQ(described("We add. So, it is 3.14. Then go", selected({"So,"})),
            (Lines{"L:We add. So,(cue)", "S: it is 3.14.(sentence_end)", "L: Then go(end)"}));
}
TEST(SegmentText, TheHandoffKeepsTheCueAndTheWordAfterIt) {
  EXPECT_EQ(described("So we go. On", selected({"So "})),
            (Lines{"L:So(cue)", "S: we go.(sentence_end)", "L: On(end)"}));
}
TEST(SegmentText, ACueInsideTheSmallSegmentDoesNothing) {
  EXPECT_EQ(described("So, thus, x. y", selected({"So,", "thus,"})),
            (Lines{"L:So,(cue)", "S: thus, x.(sentence_end)", "L: y(end)"}));
}
TEST(SegmentText, ACueAtTheVeryEndOpensNoSegment) {
  EXPECT_EQ(described("x. So,", selected({"So,"})), (Lines{"L:x. So,(end)"}));
}
TEST(SegmentText, AnEmptyTextHasNoSegments) { EXPECT_EQ(described("", selected({"So,"})), Lines{}); }
TEST(SegmentText, TheAnswerIsOneSegmentByTheSmallModel) {
  EXPECT_EQ(described("<think>x</think>So, y. z", selected({"So,"})),
            (Lines{"L:<think>x</think>(phase)", "s:So, y. z(end)"}));
}
TEST(SegmentText, TheAnswerMayBeWrittenByTheLargeModel) {
  SegmentOptions options;
  options.answer_by = Author::large;
  EXPECT_EQ(described("x</think>y", selected({}), options), (Lines{"L:x</think>(phase)", "l:y(end)"}));
}
TEST(SegmentText, TheEndOfTheThinkingEndsASmallSegment) {
  EXPECT_EQ(described("So, x</think>y", selected({"So,"})), (Lines{"L:So,(cue)", "S: x</think>(phase)", "s:y(end)"}));
}
TEST(SegmentText, NoAnswerGivesNoEmptySegment) {
  EXPECT_EQ(described("x</think>", selected({})), (Lines{"L:x</think>(end)"}));
}
TEST(SegmentText, ACueInsideTheEndTagDoesNotCount) {
  EXPECT_EQ(described("x</think>y", selected({"think"})), (Lines{"L:x</think>(phase)", "s:y(end)"}));
}
TEST(SegmentText, ABlankLineEndsASegmentThatBeginsWithIt) {
  EXPECT_EQ(described("Hmm.\n\nIt is. So", selected({"Hmm."})),
            (Lines{"L:Hmm.(cue)", "S:\n\n(sentence_end)", "L:It is. So(end)"}));
}
TEST(SegmentText, ACueCountsOnceTheLargeSegmentHoldsTheMinimumOfWords) {
  SegmentOptions options;
  options.min_large_words = 3;
  EXPECT_EQ(
      described("So, a. So, b. So, c. So, d. e", selected({"So,"}), options),
      (Lines{"L:So, a. So,(cue)", "S: b.(sentence_end)", "L: So, c. So,(cue)", "S: d.(sentence_end)", "L: e(end)"}));
}
TEST(SegmentText, TheCapCutsASmallSegmentAtTheEndOfAWord) {
  SegmentOptions options;
  options.max_small_words = 2;
  EXPECT_EQ(described("So, a b c. So, d e. f", selected({"So,"}), options),
            (Lines{"L:So,(cue)", "S: a b(cap)", "L: c. So,(cue)", "S: d e.(sentence_end)", "L: f(end)"}));
}
TEST(SegmentText, ACueThatBeginsBeforeTheCapCountsWhereItEnds) {
  SegmentOptions options;
  options.max_small_words = 2;
  EXPECT_EQ(described("So, a let me see. f", selected({"So,", "let me"}), options),
            (Lines{"L:So,(cue)", "S: a let(cap)", "L: me(cue)", "S: see.(sentence_end)", "L: f(end)"}));
}
TEST(SegmentText, SharesAndHandoffsAreCounted) {
  const Segmentation s = segment_text("So, abcde. xx</think>0123", selected({"So,"}), {});
  EXPECT_EQ(s.handoffs, 2u);
  EXPECT_DOUBLE_EQ(s.share_thinking, 7.0 / 21.0);
  EXPECT_DOUBLE_EQ(s.share_answer, 1.0);
  EXPECT_DOUBLE_EQ(s.share_all, 11.0 / 25.0);
}
TEST(SegmentText, TheCueOfASmallSegmentIsNamed) {
  const Segmentation s = segment_text("So, a. Thus, b</think>c", selected({"So,", "Thus,"}), {});
  ASSERT_EQ(s.segments.size(), 5u);
  EXPECT_EQ(s.segments[1].cue, 0u);
  EXPECT_EQ(s.segments[2].cue, std::nullopt);
  EXPECT_EQ(s.segments[3].cue, 1u);
  EXPECT_EQ(s.segments[4].cue, std::nullopt);
}

TEST(SegmentTextPublished, CuesAreSubstringsAndAnyFullStopEnds) {
  EXPECT_EQ(described("I know 3.14. y", selected({"now"}, Rules::published)),
            (Lines{"L:I know(cue)", "S: 3.(sentence_end)", "L:14. y(end)"}));
}
TEST(SegmentTextPublished, ATrailingSpaceIsPartOfTheCue) {
  EXPECT_EQ(described("So we. y", selected({"So "}, Rules::published)),
            (Lines{"L:So (cue)", "S:we.(sentence_end)", "L: y(end)"}));
}
TEST(SegmentTextPublished, ACueMustStandInTheLargeSegmentAsAWhole) {
  EXPECT_EQ(described("So a.So b. y", selected({"So ", ".So"}, Rules::published)),
            (Lines{"L:So (cue)", "S:a.(sentence_end)", "L:So (cue)", "S:b.(sentence_end)", "L: y(end)"}));
}

// Real traces of the published pair, and its published cues.
struct Traces {
  std::vector<std::string> texts;
  std::vector<std::string> selected;
  std::vector<std::string> candidates;
};

std::optional<Traces> read_traces() {
  const std::filesystem::path data = RELAYGEN_SOURCE_DIR "/../shared/data";
  std::ifstream lines(data / "qwen3_32b_aime25_traces.jsonl");
  std::ifstream published(data / "published_cues.json");
  if (!lines || !published) return std::nullopt;
  Traces traces;
  const auto cues = nlohmann::json::parse(published);
  cues.at("qwen3-32b+1.7b").get_to(traces.selected);
  cues.at("candidates").get_to(traces.candidates);
  for (std::string line; std::getline(lines, line);) traces.texts.push_back(nlohmann::json::parse(line).at("text"));
  return traces;
}

struct Figures {
  double share = 0;           // small bytes of all bytes
  double small_segments = 0;  // a trace, the answer not counted
};

Figures figures(const std::vector<std::string>& texts, const CueSet& cues) {
  double bytes = 0, small = 0, segments = 0;
  for (const std::string& text : texts) {
    const Segmentation s = segment_text(text, cues, {});
    bytes += static_cast<double>(text.size());
    small += s.share_all * static_cast<double>(text.size());
    for (const TextSegment& segment : s.segments) segments += segment.cue ? 1 : 0;
  }
  return {small / bytes, segments / static_cast<double>(texts.size())};
}

constexpr const char* kNoTraces = "The AIME25 traces are not beside the checkout (../shared/data)";

TEST(SegmentTextPublished, GivesThePublishedFiguresOnRealTraces) {
  auto traces = read_traces();
  if (!traces) GTEST_SKIP() << kNoTraces;
  ASSERT_EQ(traces->texts.size(), 25u);
  const CueSet cues = selected(traces->selected, Rules::published);
  const Figures with_blank_lines = figures(traces->texts, cues);
  EXPECT_NEAR(with_blank_lines.share, 0.339, 0.001);
  EXPECT_NEAR(with_blank_lines.small_segments, 139.2, 0.1);
  // The figures that are quoted (35.9%, 137) count full stops alone as ends: the same texts without blank lines.
  for (std::string& text : traces->texts) {
    for (std::size_t at; (at = text.find("\n\n")) != std::string::npos;) text[at] = ' ';
  }
  const Figures full_stops_only = figures(traces->texts, cues);
  EXPECT_NEAR(full_stops_only.share, 0.359, 0.004);
  EXPECT_NEAR(full_stops_only.small_segments, 137, 0.5);
}

TEST(SegmentText, HandsOverLessOftenThanThePublishedRulesOnRealTraces) {
  const auto traces = read_traces();
  if (!traces) GTEST_SKIP() << kNoTraces;
  std::vector<Cue> cues;
  for (const std::string& text : traces->selected) cues.push_back({text, true});
  for (const std::string& text : traces->candidates) {
    if (std::find(traces->selected.begin(), traces->selected.end(), text) == traces->selected.end())
      cues.push_back({text, false});
  }
  const Figures exact = figures(traces->texts, CueSet::build(cues).value());
  EXPECT_NEAR(exact.share, 0.307, 0.001);
  EXPECT_NEAR(exact.small_segments, 125.6, 0.1);
}

}  // namespace
}  // namespace relaygen
