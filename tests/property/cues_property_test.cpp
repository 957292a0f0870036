// The matcher against an oracle that tries every candidate at every position. The alphabet is small, so that cues
// occur, overlap, contain each other and are cut off by letters all the time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "relaygen/cues.h"
#include "support/cue_oracle.h"

namespace relaygen {

void showValue(const CueMatch& match, std::ostream& os) {
  os << "{cue " << match.cue << ", " << match.begin << "-" << match.end << "}";
}
bool operator==(const CueMatch& a, const CueMatch& b) { return a.cue == b.cue && a.begin == b.begin && a.end == b.end; }

namespace {

const std::vector<std::string> kCandidates = {"Now",
                                              "Now,",
                                              "now",
                                              "now ",
                                              "know",
                                              "So ",
                                              "So,",
                                              "So",
                                              "So  ",
                                              "check",
                                              "double-check",
                                              "Let me check:",
                                              "me",
                                              "me check",
                                              "That means",
                                              "That means that",
                                              "That",
                                              "that ",
                                              "means",
                                              ", so",
                                              ",",
                                              ", ",
                                              ",,",
                                              "é",
                                              "né",
                                              "中",
                                              "so,",
                                              "o",
                                              "n",
                                              "w",
                                              "now, so",
                                              "so",
                                              "a b",
                                              "a",
                                              "a b c d",
                                              "b",
                                              "b c",
                                              "d ",
                                              "'",
                                              "now's"};

const std::vector<std::string> kPieces = {"Now",      "now", "know",   "Nowhere", "So",   "so",    "check",  "double",
                                          "-",        "Let", "me",     ":",       "That", "means", "that",   " ",
                                          " ",        " ",   ",",      ",",       ".",    "'",     "\u2019", "é",
                                          "ß",        "中",  "\u0301", "\u00A0",  "\n",   "\xFF",  "\xC3",   "\xE4\xB8",
                                          "\xF0\x9F", "a",   "b",      "c",       "d",    "s",     "_",      "1"};

std::vector<Cue> some_cues() {
  const auto texts = *rc::gen::container<std::set<std::string>>(rc::gen::elementOf(kCandidates));
  std::vector<Cue> cues;
  for (const std::string& text : texts)
    cues.push_back({text, *rc::gen::weightedElement<bool>({{3, true}, {2, false}})});
  return cues;
}

// Half of the pieces are cues of the set, so that they really occur.
std::string some_text(const std::vector<Cue>& cues) {
  std::vector<std::string> pieces = kPieces;
  for (std::size_t i = 0; !cues.empty() && i < kPieces.size(); ++i) pieces.push_back(cues[i % cues.size()].text);
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)))
    text += piece;
  return text;
}

// Cuts a text into pieces of 1 to 5 bytes.
std::vector<std::string_view> some_chunks(std::string_view text) {
  std::vector<std::string_view> chunks;
  while (!text.empty()) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 6);
    chunks.push_back(text.substr(0, size));
    text.remove_prefix(chunks.back().size());
  }
  return chunks;
}

void expect_oracle(Rules rules) {
  const std::vector<Cue> cues = some_cues();
  const std::string text = some_text(cues);
  const CueSet set = CueSet::build(cues, rules).value();
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  for (const std::string_view chunk : some_chunks(text)) {
    const CueMatcher snapshot = matcher;  // feeding a copy of a copy leaves the original as it was
    CueMatcher discarded = snapshot;
    std::vector<CueMatch> ignored;
    discarded.feed(set, "Now, so a b", ignored);
    discarded.finish(set, ignored);
    matcher = snapshot;
    matcher.feed(set, chunk, fired);
  }
  RC_ASSERT(matcher.position() == text.size());
  matcher.finish(set, fired);
  const auto expected = oracle::matches(cues, text, rules);
  RC_CLASSIFY(expected.empty(), "nothing fires");
  RC_CLASSIFY(expected.size() > 3, "more than three fire");
  RC_ASSERT(fired == expected);
}

TEST(CueMatcherProperty, AnyChunkingGivesTheOraclesMatches) {
  EXPECT_TRUE(rc::check("exact rules", [] { expect_oracle(Rules::exact); }));
}
TEST(CueMatcherProperty, AnyChunkingGivesTheOraclesMatchesUnderThePublishedRules) {
  EXPECT_TRUE(rc::check("published rules", [] { expect_oracle(Rules::published); }));
}

// undecided(e) and may_fire_here() against their meaning: does some continuation make a cue fire that ends at e?
TEST(CueMatcherProperty, UndecidedMeansThatSomeContinuationMakesItFire) {
  EXPECT_TRUE(rc::check("undecided", [] {
    const std::vector<Cue> cues = some_cues();
    const std::string text = some_text(cues);
    const CueSet set = CueSet::build(cues).value();
    CueMatcher matcher;
    std::vector<CueMatch> fired;
    matcher.feed(set, text, fired);
    std::set<std::uint64_t> already;
    for (const CueMatch& m : fired) already.insert(m.end);
    std::set<std::uint64_t> possible;
    for (const std::string continuation :
         {"", " ", "x", ";", " x", "\xA9", "\xAD", "\x98\x80", "\xAF\xB0"}) {  // also the rest of a character
      for (const CueMatch& m : oracle::matches(cues, text + continuation, Rules::exact)) {
        if (m.end <= text.size()) possible.insert(m.end);
      }
    }
    for (std::uint64_t end = 0; end <= text.size(); ++end) {
      RC_ASSERT(matcher.undecided(set, end) == (possible.contains(end) && !already.contains(end)));
    }
    RC_ASSERT(matcher.may_fire_here(set) == matcher.undecided(set, text.size()));
  }));
}

}  // namespace
}  // namespace relaygen
