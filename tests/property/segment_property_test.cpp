// Segmentation against an oracle that knows all matches and all sentence ends of the whole text beforehand.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "relaygen/segment.h"
#include "support/cue_oracle.h"
#include "support/sentence_oracle.h"

namespace relaygen {

void showValue(const TextSegment& s, std::ostream& os) {
  os << name(s.author) << " " << s.begin << "-" << s.end << " " << name(s.why)
     << (s.cue ? " cue " + std::to_string(*s.cue) : "");
}
bool operator==(const TextSegment& a, const TextSegment& b) {
  return a.begin == b.begin && a.end == b.end && a.author == b.author && a.phase == b.phase && a.cue == b.cue &&
         a.why == b.why;
}

namespace {

const std::vector<Cue> kCues = {{"So,", true},    {"So ", true},    {"now", true}, {"now,", false}, {"Hmm.", true},
                                {"let me", true}, {"me see", true}, {"So", false}, {"e.g.", true},  {"3", true}};
const std::vector<std::string> kPieces = {"So,",  "So ",  "now",  "now,", "know", "Hmm.",     "let me ", "see",
                                          " ",    " ",    ". ",   ".",    "3.14", "2. ",      "\n",      "\n\n",
                                          "word", "e.g.", "$x.$", "?",    "!",    "</think>", "<think>"};

bool is_blank(char c) { return c == ' ' || c == '\n'; }

// Words of the text between two offsets, a part of a word counting as one.
std::uint64_t words(std::string_view text, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t count = 0;
  for (std::uint64_t i = begin; i < end; ++i) {
    if (!is_blank(text[i]) && (i == begin || is_blank(text[i - 1]))) ++count;
  }
  return count;
}

std::vector<TextSegment> expected_segments(std::string_view text, Rules rules, const SegmentOptions& options) {
  const std::size_t tag = text.find("</think>");
  const bool tagged = tag != text.npos;
  const std::uint64_t thinking_end = tagged ? tag + 8 : text.size();
  const bool has_answer = thinking_end < text.size();
  const std::string_view thinking = text.substr(0, thinking_end);
  const SegmentEnd at_end = has_answer ? SegmentEnd::phase : SegmentEnd::end;
  const auto all_matches = oracle::matches(kCues, thinking, rules);
  const auto all_ends = oracle::sentence_ends(thinking, rules);

  std::vector<TextSegment> segments;
  std::uint64_t at = 0;
  while (at < thinking.size()) {
    auto matches = all_matches;
    if (rules == Rules::published) {
      matches = oracle::matches(kCues, thinking.substr(at), rules);
      for (CueMatch& m : matches) m.begin += at, m.end += at;
    }
    const auto cue = std::find_if(matches.begin(), matches.end(), [&](const CueMatch& m) {
      return m.end > at && m.end <= (tagged ? tag : text.size()) &&
             words(thinking, at, m.end) >= options.min_large_words;
    });
    if (cue == matches.end() || cue->end == thinking.size()) {
      segments.push_back({at, thinking.size(), Author::large, Phase::thinking, {}, at_end});
      break;
    }
    segments.push_back({at, cue->end, Author::large, Phase::thinking, {}, SegmentEnd::cue});
    const std::uint64_t begin = cue->end;
    std::uint64_t end = thinking.size();
    SegmentEnd why = at_end;
    const auto propose = [&](std::uint64_t offset, SegmentEnd reason) {
      if (offset < end) end = offset, why = reason;
    };
    for (const std::uint64_t e : all_ends) {
      if (e > begin) propose(e, SegmentEnd::sentence_end);
    }
    for (std::uint64_t e = begin; rules == Rules::exact && e < thinking.size() && is_blank(thinking[e]); ++e) {
      if (thinking[e] == '\n' && thinking.substr(begin, e - begin).find('\n') != thinking.npos)
        propose(e + 1, SegmentEnd::sentence_end);
    }
    for (std::uint64_t e = begin + 1; options.max_small_words > 0 && e < thinking.size(); ++e) {
      if (words(thinking, begin, e) == options.max_small_words && !is_blank(thinking[e - 1]) && is_blank(thinking[e]))
        propose(e, SegmentEnd::cap);
    }
    segments.push_back({begin, end, Author::small, Phase::thinking, cue->cue, why});
    at = end;
  }
  if (has_answer)
    segments.push_back({thinking_end, text.size(), options.answer_by, Phase::answer, {}, SegmentEnd::end});
  return segments;
}

void expect_oracle(Rules rules) {
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)))
    text += piece;
  SegmentOptions options;
  options.min_large_words = *rc::gen::inRange(0u, 4u);
  options.max_small_words = *rc::gen::inRange(0u, 4u);
  options.answer_by = *rc::gen::element(Author::large, Author::small);
  const Segmentation s = segment_text(text, CueSet::build(kCues, rules).value(), options);
  RC_CLASSIFY(s.segments.size() > 4, "more than four segments");
  RC_ASSERT(s.segments == expected_segments(text, rules, options));
  std::uint64_t at = 0;
  for (const TextSegment& segment : s.segments) {
    RC_ASSERT(segment.begin == at);
    RC_ASSERT(segment.end > at);
    at = segment.end;
  }
  RC_ASSERT(at == text.size());
}

TEST(SegmentTextProperty, GivesTheOraclesSegments) {
  EXPECT_TRUE(rc::check("exact rules", [] { expect_oracle(Rules::exact); }));
}
TEST(SegmentTextProperty, GivesTheOraclesSegmentsUnderThePublishedRules) {
  EXPECT_TRUE(rc::check("published rules", [] { expect_oracle(Rules::published); }));
}

}  // namespace
}  // namespace relaygen
