#include "relaygen/cues.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace relaygen {
namespace {

Cue selected(std::string text) { return {std::move(text), true}; }
Cue known(std::string text) { return {std::move(text), false}; }

CueSet cue_set(const std::vector<Cue>& cues, Rules rules = Rules::exact) { return CueSet::build(cues, rules).value(); }

// What fired, as "begin-end text of the cue", after the whole text was fed in one piece.
std::vector<std::string> fired_in(const std::vector<Cue>& cues, std::string_view text, Rules rules = Rules::exact) {
  const CueSet set = cue_set(cues, rules);
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, text, fired);
  matcher.finish(set, fired);
  std::vector<std::string> described;
  for (const CueMatch& m : fired) {
    described.push_back(std::to_string(m.begin) + "-" + std::to_string(m.end) + " " + cues[m.cue].text);
  }
  return described;
}

using Fired = std::vector<std::string>;

TEST(CueMatcher, FiresAtAWholeWord) { EXPECT_EQ(fired_in({selected("Now")}, "Hm. Now go"), (Fired{"4-7 Now"})); }
TEST(CueMatcher, FiresAtTheStartAndAtTheEndOfTheText) {
  EXPECT_EQ(fired_in({selected("Now")}, "Now"), (Fired{"0-3 Now"}));
}
TEST(CueMatcher, NowDoesNotFireInsideKnow) { EXPECT_EQ(fired_in({selected("now")}, "I know."), Fired{}); }
TEST(CueMatcher, NowDoesNotFireInsideNowhere) { EXPECT_EQ(fired_in({selected("Now")}, "Nowhere"), Fired{}); }
TEST(CueMatcher, OtherDoesNotFireInsideOtherwise) { EXPECT_EQ(fired_in({selected("Other")}, "Otherwise,"), Fired{}); }
TEST(CueMatcher, DigitsAndUnderscoresContinueAWord) {
  EXPECT_EQ(fired_in({selected("now")}, "now1 now_ 1now _now"), Fired{});
}
TEST(CueMatcher, AnApostropheContinuesAWordOnTheRight) {
  EXPECT_EQ(fired_in({selected("now")}, "now's now\u2019s 'now"), (Fired{"15-18 now"}));
}
TEST(CueMatcher, LettersOfOtherScriptsAreLetters) {
  EXPECT_EQ(fired_in({selected("so")}, "éso soß 中so so中 (so)"), (Fired{"23-25 so"}));
}
TEST(CueMatcher, CombiningMarksAreLetters) { EXPECT_EQ(fired_in({selected("so")}, "so\u0301 so"), (Fired{"5-7 so"})); }
TEST(CueMatcher, AHyphenIsABoundary) {
  EXPECT_EQ(fired_in({selected("check")}, "double-check it"), (Fired{"7-12 check"}));
}
TEST(CueMatcher, ACueThatEndsInACommaNeedsNoBoundaryAfterIt) {
  EXPECT_EQ(fired_in({selected("Now,")}, "Now,then"), (Fired{"0-4 Now,"}));
}
TEST(CueMatcher, ACueThatStartsWithPunctuationNeedsNoBoundaryBeforeIt) {
  EXPECT_EQ(fired_in({selected("; so")}, "a; so"), (Fired{"1-5 ; so"}));
}
TEST(CueMatcher, InvalidBytesAreBoundaries) {
  EXPECT_EQ(fired_in({selected("so")}, "\xFFso\xC3 so\xE4\xB8"), (Fired{"1-3 so", "5-7 so"}));
}

TEST(CueMatcher, ATrailingSpaceIsAConditionAndNotPartOfTheMatch) {
  EXPECT_EQ(fired_in({selected("So ")}, "So we. So, no. So"), (Fired{"0-2 So "}));
}
TEST(CueMatcher, OnlyOneSpaceIsAConditionTheRestIsPartOfTheCue) {
  EXPECT_EQ(fired_in({selected("So  ")}, "So  we"), (Fired{"0-3 So  "}));
}
TEST(CueMatcher, ANoBreakSpaceIsNotTheSpaceOfACue) { EXPECT_EQ(fired_in({selected("So ")}, "So\u00A0we"), Fired{}); }
TEST(CueMatcher, TheVariantWithTheSpaceIsTheMoreSpecific) {
  EXPECT_EQ(fired_in({selected("So"), known("So ")}, "So we. So, So"), (Fired{"7-9 So", "11-13 So"}));
  EXPECT_EQ(fired_in({known("So"), selected("So ")}, "So we. So, So"), (Fired{"0-2 So "}));
}

TEST(CueMatcher, AKnownLongerCandidateDecidesAgainstTheShorter) {
  EXPECT_EQ(fired_in({selected("Now"), known("Now,")}, "Now, and Now"), (Fired{"9-12 Now"}));
}
TEST(CueMatcher, ASelectedLongerCandidateFiresInsteadOfTheShorter) {
  EXPECT_EQ(fired_in({selected("Now"), selected("Now,")}, "Now, go"), (Fired{"0-4 Now,"}));
}
TEST(CueMatcher, ALongerCandidateThatBeginsEarlierDecidesToo) {
  EXPECT_EQ(fired_in({selected("check"), known("double-check")}, "double-check, check"), (Fired{"14-19 check"}));
}
TEST(CueMatcher, ALongerCandidateThatIsNoWordHereDoesNotDecide) {
  EXPECT_EQ(fired_in({selected("That means"), known("That means that")}, "That means thatch"),
            (Fired{"0-10 That means"}));
}
TEST(CueMatcher, ALongerCandidateThatDoesNotComeTrueLetsTheShorterFireLate) {
  const CueSet set = cue_set({selected("That means"), known("That means that")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "That means th", fired);
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(matcher.undecided(set, 10));
  matcher.feed(set, "e", fired);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].end, 10u);
  EXPECT_FALSE(matcher.undecided(set, 10));
}
TEST(CueMatcher, OverlappingCuesThatDoNotContainEachOtherBothFire) {
  EXPECT_EQ(fired_in({selected("so now"), selected("now then")}, "so now then"),
            (Fired{"0-6 so now", "3-11 now then"}));
}
TEST(CueMatcher, AChainOfCandidatesIsDecidedByTheLongestValidOne) {
  EXPECT_EQ(fired_in({selected("a"), known("a b"), selected("a b c")}, "a b c. a b. a."),
            (Fired{"0-5 a b c", "12-13 a"}));
}

TEST(CueMatcher, FiresOnlyOnceTheNextCharacterIsKnown) {
  const CueSet set = cue_set({selected("Now")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "Now", fired);
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(matcher.may_fire_here(set));
  matcher.feed(set, "\xC3", fired);  // half of a character
  EXPECT_TRUE(fired.empty());
  EXPECT_FALSE(matcher.may_fire_here(set));
  EXPECT_TRUE(matcher.undecided(set, 3));
  CueMatcher other = matcher;
  matcher.feed(set, "\xA9", fired);  // é
  EXPECT_TRUE(fired.empty());
  EXPECT_FALSE(matcher.undecided(set, 3));
  other.feed(set, "\x97", fired);  // ×
  ASSERT_EQ(fired.size(), 1u);
}
TEST(CueMatcher, MayFireHereIsFalseWhereAKnownCandidateDecidesWhateverFollows) {
  const CueSet set = cue_set({selected("check"), known("double-check")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "double-check", fired);
  EXPECT_FALSE(matcher.may_fire_here(set));
}
TEST(CueMatcher, MayFireHereIsTrueBeforeTheSpaceOfASpacedCue) {
  const CueSet set = cue_set({selected("So "), known("So")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "So", fired);
  EXPECT_TRUE(matcher.may_fire_here(set));
}
TEST(CueMatcher, MayFireHereIsTrueWhileALongerCandidateIsStillPossible) {
  const CueSet set = cue_set({selected("Now,"), known("Now, then")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "Now,", fired);
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(matcher.may_fire_here(set));
}
TEST(CueMatcher, ACommaCueFiresAtOnceWhereNothingLongerIsKnown) {
  const CueSet set = cue_set({selected("Now,"), selected("Now")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "Now,", fired);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].end, 4u);
}
TEST(CueMatcher, ACopyGoesOnIndependently) {
  const CueSet set = cue_set({selected("Now")});
  CueMatcher one;
  std::vector<CueMatch> fired;
  one.feed(set, "Now", fired);
  CueMatcher two = one;
  one.feed(set, "here", fired);
  EXPECT_TRUE(fired.empty());
  two.feed(set, " ", fired);
  EXPECT_EQ(fired.size(), 1u);
}
TEST(CueMatcher, ADefaultConstructedSetNeverFires) {
  const CueSet set;
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "So, now", fired);
  matcher.finish(set, fired);
  EXPECT_TRUE(fired.empty());
  EXPECT_TRUE(set.cues().empty());
}

TEST(CueMatcherPublished, MatchesRawSubstrings) {
  EXPECT_EQ(fired_in({selected("now"), selected("Other")}, "know Otherwise", Rules::published),
            (Fired{"1-4 now", "5-10 Other"}));
}
TEST(CueMatcherPublished, IncludesTheTrailingSpaceAndIgnoresKnownCandidates) {
  EXPECT_EQ(fired_in({selected("So "), known("So")}, "So, So we", Rules::published), (Fired{"4-7 So "}));
}
TEST(CueMatcherPublished, EachEndFires) {
  EXPECT_EQ(fired_in({selected("now"), selected("now,"), selected("ow,")}, "now,", Rules::published),
            (Fired{"0-3 now", "0-4 now,"}));
}

std::string refusal(const std::vector<Cue>& cues) {
  const auto set = CueSet::build(cues);
  if (set) return "accepted";
  EXPECT_EQ(set.error().kind, ErrorKind::bad_profile);
  return set.error().message;
}

TEST(CueSet, RefusesWhatCannotBeACueAndNamesIt) {
  EXPECT_EQ(refusal({selected("So,"), selected("")}), "the cue \"\" is empty");
  EXPECT_EQ(refusal({selected("  ")}), "the cue \"  \" holds only spaces");
  EXPECT_EQ(refusal({selected("So,"), selected("\xFF")}), "the cue number 2 is not UTF-8");
  EXPECT_EQ(refusal({selected("So\n")}), "the cue \"So\n\" holds a line break");
  EXPECT_EQ(refusal({selected(std::string(64, 'a'))}),
            "the cue \"" + std::string(64, 'a') + "\" is 64 bytes long, and a cue may have 63");
  EXPECT_EQ(refusal({selected("So"), known("So")}), "the cue \"So\" is listed twice, selected and not selected");
}
TEST(CueSet, RefusesTooManyCues) {
  std::vector<Cue> cues;
  for (std::size_t i = 0; i <= kMaxCues; ++i) cues.push_back(selected("cue " + std::to_string(i)));
  EXPECT_EQ(refusal(cues), "there are 10001 cues, and a profile may have 10000");
  cues.pop_back();
  EXPECT_EQ(refusal(cues), "accepted");
}
TEST(CueSet, AcceptsALongestCueAndFindsIt) {
  const std::string longest(kMaxCueBytes, 'a');
  EXPECT_EQ(fired_in({selected(longest)}, "b " + longest + " b"), (Fired{"2-65 " + longest}));
  EXPECT_EQ(fired_in({selected(longest)}, "b" + longest + " b"), Fired{});
}
TEST(CueSet, AcceptsRepeatedCuesAndTheFirstFires) {
  const CueSet set = cue_set({selected("So"), selected("So")});
  CueMatcher matcher;
  std::vector<CueMatch> fired;
  matcher.feed(set, "So.", fired);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].cue, 0u);
}

}  // namespace
}  // namespace relaygen
