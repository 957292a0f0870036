#include "relaygen/sentence.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace relaygen {
namespace {

std::vector<std::uint64_t> ends_of(std::string_view text, Rules rules = Rules::exact) {
  SentenceEnds detector(rules);
  std::vector<std::uint64_t> ends;
  detector.feed(text, ends);
  detector.finish(ends);
  return ends;
}

// The text with a '|' at each sentence end.
std::string marked(std::string_view text, Rules rules = Rules::exact) {
  std::string result;
  std::uint64_t last = 0;
  for (const std::uint64_t end : ends_of(text, rules)) {
    result += text.substr(last, end - last);
    result += '|';
    last = end;
  }
  result += text.substr(last);
  return result;
}

struct Example {
  const char* name;
  std::string_view expected;  // with a '|' at each sentence end
};

void PrintTo(const Example& example, std::ostream* os) { *os << example.name; }

class SentenceEndsExample : public testing::TestWithParam<Example> {};

TEST_P(SentenceEndsExample, IsMarked) {
  std::string text(GetParam().expected);
  std::erase(text, '|');
  EXPECT_EQ(marked(text), GetParam().expected);
}

constexpr Example kExamples[] = {
    {"FullStopBeforeASpace", "It is.| Then"},
    {"FullStopAtTheEnd", "It is.|"},
    {"FullStopBeforeALineBreak", "It is.|\nThen"},
    {"FullStopBeforeANoBreakSpace", "It is.|\u00A0Then"},
    {"FullStopBeforeAnIdeographicSpace", "It is.|\u3000Then"},
    {"ExclamationAndQuestionMarks", "Wow!| Really?| Yes"},
    {"ARunOfMarksEndsAfterTheRun", "What?!| Now!!| So"},
    {"ClosingMarksBelongToTheSentence", "(It is.)| \"So?\"| **Done.**| ‘x y.’| «a so!»| Then"},
    {"AnOpeningMarkIsNoClosingMark", "It is.(so"},
    {"AClosingMarkWithoutWhiteSpaceAfterItIsNoEnd", "(It is.), then"},
    {"FullWidthMarksEndWhateverFollows", "是的。|好！|吗？|So"},

    {"NoEndInADecimal", "About 3.14 of it"},
    {"NoEndInAThousandsNumber", "Some 1,000.50 of it"},
    {"AnEndAfterANumber", "It is 3.14.| Then 5.| So"},
    {"NoEndBetweenLetters", "x.y and a.b.c"},
    {"NoEndInAFileName", "see main.cpp here"},
    {"NoEndInSingleLetterAbbreviations", "e.g. this, i.e. that, w.r.t. it, 5 p.m. on (e.g.) U.S. soil"},
    {"NoEndInListedAbbreviations", "Fig. 3 vs. Eq. 4, approx. 5 by Dr. Who et al. 1999"},
    {"AnEndAfterEtcAndSingleCapitals", "and etc.| So by J.| Doe"},
    {"AnEndAfterAWordThatOnlyEndsLikeAnAbbreviation", "The config.| A real.| Then"},
    {"ABlankLineAfterAnAbbreviation", "by Dr.\n\n|Who"},
    {"AQuestionAfterAnAbbreviation", "vs.?| So"},
    {"NoEndInAnEllipsis", "Well... so .. and… on…. it"},
    {"AnEndWhereAQuestionFollowsAnEllipsis", "Well...?| so"},

    {"NoEndInAListNumber", "1. First\n2. Second\n  - 13. Third\n## 4. Four\n**5.** Five"},
    {"AnEndWhereTheLineIsOnlyANumber", "12.|\n3.|  \nx\n4.|"},
    {"AnEndAfterANumberInTheLine", "is 12.| So"},
    {"AnEndAfterANumberOfMoreThanThreeDigitsAtTheStartOfALine", "2025.| So"},
    {"NoEndInAFactorial", "so 5! is and n! is (k!) not"},
    {"AnEndWhereALineEndsInAFactorial", "= 5!|\nso n!|"},
    {"AnEndAfterAFactorialAndAFullStop", "is 5!.| So"},
    {"NoEndInAnUnspacedFactorial", "5!=120"},

    {"NoEndInInlineMath", "that $f(x. y)! a. b$ is"},
    {"AnEndAfterInlineMath", "is $5$.| Then"},
    {"AFullStopAsTheLastThingInMathCounts", "is $x.$| So \\(y.\\)| So \\[z.\\]| So $$w.$$| So"},
    {"AFullStopBeforeBlanksAtTheEndOfDisplayMathCounts", "\\[\nz.\n\\]|\nSo"},
    {"AnEllipsisAsTheLastThingInMathDoesNotCount", "is $1, 2, ...$ So"},
    {"AFullStopInMathNeedsWhiteSpaceAfterIt", "is $x.$, so"},
    {"MathWithBlanksInside", "is $ 9b + 7 $.| So $ f(3.5)! $ is $ x $.| Then"},
    {"AnUnpairedClosingDollarOpensNoMath", "x\ny $.| So b $, c.| Then"},
    {"ADollarAfterAnAmountDoesNotSwallowSentences", "cost 5 $ now.| Then $ 6.| So"},
    {"AnEscapedDollarIsNoMath", "cost \\$x now.| Then \\$6.| So"},
    {"AmountsOfMoneyDoNotSwallowSentences", "for $5 and $10.| Then $20.| So $x.y. z$ is"},
    {"AQuestionAboutAnAmount", "for $5?| Then"},
    {"ALineBreakClosesInlineMath", "is $x. y\nSo it is.| Then"},
    {"NoEndInParenthesisMath", "is \\(a. b\\) so"},
    {"NoEndInDisplayMath", "is \\[a. b\n! c\\] so $$a. b\n? c$$ so"},
    {"ABlankLineClosesDisplayMath", "is \\[a. b\n\n|So.| It is.| Then"},
    {"NoEndInABox", "is \\boxed{a. {b! } c. \\} d? } so.| Then"},
    {"AnEndAfterABox", "is \\boxed{5}.| Then"},
    {"ABlankLineClosesABox", "is \\boxed{a. \n\n|So.| Then"},
    {"AnotherCommandIsNoBox", "is \\text{a.| b}"},
    {"NoEndInInlineCode", "is `a. b! c` so ``x. ` y. `` so"},
    {"ALineBreakClosesInlineCode", "is `a. b\nSo.| Then"},
    {"NoEndInACodeFence", "is\n```py\na. b\nc! d `e. f`\n```\nSo.| Then"},
    {"ABlankLineClosesACodeFence", "```\na. b\n\n|So.| Then"},

    {"ABlankLineEndsASentence", "It is\n\n|Then"},
    {"ABlankLineMayHoldBlanks", "It is\n \t\r\n|Then"},
    {"ABlankLineAfterAnEndIsNoSecondEnd", "It is.|\n\nThen"},
    {"FurtherLineBreaksAreNoEnds", "It is\n\n|\n\nThen"},
    {"ABlankLineAtTheStartIsNoEnd", "\n\nThen"},
    {"ASingleLineBreakIsNoEnd", "It is\nso"},
};

INSTANTIATE_TEST_SUITE_P(Exact, SentenceEndsExample, testing::ValuesIn(kExamples),
                         [](const auto& example) { return std::string(example.param.name); });

TEST(SentenceEnds, InlineMathThatIsNotClosedEndsAfter256Bytes) {
  const std::string text = "is $x" + std::string(255, '.') + " a. b";
  EXPECT_EQ(ends_of(text), (std::vector<std::uint64_t>{text.size() - 2}));
}
TEST(SentenceEnds, InlineCodeThatIsNotClosedEndsAfter256Bytes) {
  const std::string text = "is `" + std::string(256, 'x') + " a. b";
  EXPECT_EQ(ends_of(text), (std::vector<std::uint64_t>{text.size() - 2}));
}
TEST(SentenceEnds, AnEndIsCertainOnlyWhenTheNextCharacterIsKnown) {
  SentenceEnds detector;
  std::vector<std::uint64_t> ends;
  detector.feed("It is 3.", ends);
  EXPECT_TRUE(ends.empty());
  EXPECT_EQ(detector.waiting(), 8u);
  SentenceEnds other = detector;
  detector.feed("14", ends);
  EXPECT_TRUE(ends.empty());
  EXPECT_EQ(detector.waiting(), std::nullopt);
  other.feed(" ", ends);
  EXPECT_EQ(ends, (std::vector<std::uint64_t>{8}));
  EXPECT_EQ(other.waiting(), std::nullopt);
}
TEST(SentenceEnds, AClosingMarkMovesTheWaitingEnd) {
  SentenceEnds detector;
  std::vector<std::uint64_t> ends;
  detector.feed("(It is.", ends);
  EXPECT_EQ(detector.waiting(), 7u);
  detector.feed(")", ends);
  EXPECT_EQ(detector.waiting(), 8u);
}
TEST(SentenceEnds, AListNumberWaitsUntilItsLineGoesOn) {
  SentenceEnds detector;
  std::vector<std::uint64_t> ends;
  detector.feed("2. ", ends);
  EXPECT_EQ(detector.waiting(), 2u);
  detector.feed("F", ends);
  EXPECT_EQ(detector.waiting(), std::nullopt);
  EXPECT_TRUE(ends.empty());
}
TEST(SentenceEnds, AnAbbreviationDoesNotWait) {
  SentenceEnds detector;
  std::vector<std::uint64_t> ends;
  detector.feed("see Fig.", ends);
  EXPECT_EQ(detector.waiting(), std::nullopt);
}
TEST(SentenceEnds, ABlankLineEndsASegmentThatBeginsWithIt) {
  for (const std::string_view before : {"Hmm.", "Hmm. "}) {  // the stop is decided after, or before, the writer changes
    SentenceEnds detector;
    std::vector<std::uint64_t> ends;
    detector.feed(before, ends);
    detector.begin_segment();
    detector.feed("\n\nSo", ends);
    EXPECT_EQ(ends, (std::vector<std::uint64_t>{4, before.size() + 2}));
  }
}
TEST(SentenceEnds, InvalidBytesAreNoWhiteSpace) {
  EXPECT_EQ(marked("It is.\xFF so.| \xE4\xB8"), "It is.\xFF so.| \xE4\xB8");
}
TEST(SentenceEnds, TheStateIsSmall) { EXPECT_LE(sizeof(SentenceEnds), 96u); }

TEST(SentenceEndsPublished, AnyFullStopOrBlankLineEndsASentence) {
  EXPECT_EQ(marked("3.14 e.g. x!\n\ny", Rules::published), "3.|14 e.|g.| x!|\n\n|y");
}

}  // namespace
}  // namespace relaygen
