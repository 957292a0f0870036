#include "relaygen/phase.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace relaygen {
namespace {

const ThinkingTags kTags{"<think>", {"</think>"}};

struct Seen {
  bool opened;
  std::uint64_t thinking_begin;
  std::optional<std::uint64_t> thinking_end;
  std::optional<std::uint64_t> answer_begin;
  bool operator==(const Seen&) const = default;
};

void PrintTo(const Seen& seen, std::ostream* os) {
  *os << (seen.opened ? "opened" : "not opened") << " at " << seen.thinking_begin << ", thinking to "
      << (seen.thinking_end ? std::to_string(*seen.thinking_end) : "-") << ", answer from "
      << (seen.answer_begin ? std::to_string(*seen.answer_begin) : "-");
}

// Follows the text in pieces of `size` bytes.
Seen follow(std::string_view text, std::size_t size, const ThinkingTags& tags = kTags,
            PromptState start = PromptState::before_thinking) {
  PhaseTracker tracker(start);
  std::optional<std::uint64_t> reported;
  for (std::size_t at = 0; at < text.size(); at += size) {
    const auto ended = tracker.feed(tags, text.substr(at, size));
    if (ended) {
      EXPECT_FALSE(reported) << "the thinking ends only once";
      reported = ended;
      EXPECT_EQ(tracker.phase(), Phase::answer);
    }
  }
  EXPECT_EQ(tracker.position(), text.size());
  if (start != PromptState::answering) {
    EXPECT_EQ(reported, tracker.answer_begin());
  }
  return {tracker.opened(), tracker.thinking_begin(), tracker.thinking_end(), tracker.answer_begin()};
}

class PhaseTrackerPieces : public testing::TestWithParam<std::size_t> {};

TEST_P(PhaseTrackerPieces, FindsBothTags) {
  EXPECT_EQ(follow("<think>a b</think> c", GetParam()), (Seen{true, 7, 10, 18}));
}
TEST_P(PhaseTrackerPieces, SkipsWhiteSpaceBeforeTheBeginTag) {
  EXPECT_EQ(follow(" \n<think>a</think>", GetParam()), (Seen{true, 9, 10, 18}));
}
TEST_P(PhaseTrackerPieces, ALaterBeginTagIsText) {
  EXPECT_EQ(follow("a <think>b</think>", GetParam()), (Seen{false, 0, 10, 18}));
  EXPECT_EQ(follow("<think>a<think>b</think>", GetParam()), (Seen{true, 7, 16, 24}));
}
TEST_P(PhaseTrackerPieces, OnlyTheFirstEndTagCounts) {
  EXPECT_EQ(follow("<think>a</think>b</think>", GetParam()), (Seen{true, 7, 8, 16}));
}
TEST_P(PhaseTrackerPieces, AnEndTagNeedsNoBeginTag) {
  EXPECT_EQ(follow("a</think>", GetParam()), (Seen{false, 0, 1, 9}));
}
TEST_P(PhaseTrackerPieces, ATagThatIsNotCompleteIsText) {
  EXPECT_EQ(follow("<think a</think", GetParam()), (Seen{false, 0, std::nullopt, std::nullopt}));
}
TEST_P(PhaseTrackerPieces, AnEndTagAfterItsOwnBeginningIsFound) {
  EXPECT_EQ(follow("a</thi</think>", GetParam()), (Seen{false, 0, 6, 14}));
}
TEST_P(PhaseTrackerPieces, AnOpenedPromptNeedsNoBeginTag) {
  EXPECT_EQ(follow("<think>a</think>", GetParam(), kTags, PromptState::thinking), (Seen{true, 0, 8, 16}));
}
TEST_P(PhaseTrackerPieces, AfterAClosedPromptEverythingIsTheAnswer) {
  EXPECT_EQ(follow("a</think>b", GetParam(), kTags, PromptState::answering), (Seen{true, 0, 0, 0}));
}
TEST_P(PhaseTrackerPieces, AnyOfSeveralEndTagsEndsTheThinking) {
  const ThinkingTags tags{"<|channel|>analysis", {"<|end|>", "<|channel|>final"}};
  EXPECT_EQ(follow("<|channel|>analysis a<|channel|>final b<|end|>", GetParam(), tags), (Seen{true, 19, 21, 37}));
}
TEST_P(PhaseTrackerPieces, BeginAndEndTagMayBeTheSame) {
  EXPECT_EQ(follow("%%a%%b", GetParam(), {"%%", {"%%"}}), (Seen{true, 2, 3, 5}));
}
TEST_P(PhaseTrackerPieces, OfTwoTagsThatEndTogetherTheLongerCounts) {
  EXPECT_EQ(follow("a</think>", GetParam(), {"", {"think>", "</think>"}}), (Seen{false, 0, 1, 9}));
}
TEST_P(PhaseTrackerPieces, AModelWithoutTagsOnlyThinks) {
  EXPECT_EQ(follow("<think>a</think>", GetParam(), {}), (Seen{false, 0, std::nullopt, std::nullopt}));
}
TEST_P(PhaseTrackerPieces, ALongestTagIsFound) {
  const std::string tag(64, '#');
  EXPECT_EQ(follow("a" + tag + "b", GetParam(), {"", {tag}}), (Seen{false, 0, 1, 65}));
}
INSTANTIATE_TEST_SUITE_P(OfAnySize, PhaseTrackerPieces, testing::Values(1, 2, 3, 5, 8, 63, 1000));

TEST(PhaseTracker, ACopyGoesOnIndependently) {
  PhaseTracker one;
  one.feed(kTags, "a</thi");
  PhaseTracker two = one;
  EXPECT_EQ(one.feed(kTags, "nk>"), 9u);
  EXPECT_EQ(two.feed(kTags, "ng>"), std::nullopt);
}

TEST(PromptState, TheLastTagDecides) {
  EXPECT_EQ(prompt_state(kTags, "<|im_start|>assistant\n"), PromptState::before_thinking);
  EXPECT_EQ(prompt_state(kTags, "<|im_start|>assistant\n<think>\n"), PromptState::thinking);
  EXPECT_EQ(prompt_state(kTags, "<|im_start|>assistant\n<think>\n\n</think>\n\n"), PromptState::answering);
  EXPECT_EQ(prompt_state(kTags, "</think><think>"), PromptState::thinking);
  EXPECT_EQ(prompt_state({}, "<think>"), PromptState::before_thinking);
}

}  // namespace
}  // namespace relaygen
