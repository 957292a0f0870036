// The loop on scripted models: one behaviour a test.
#include "relaygen/relay.h"

#include <gtest/gtest.h>

#include "support/scripted.h"

namespace relaygen::testing {
namespace {

using Pieces = std::vector<std::string>;

class Relay : public ::testing::Test {
 protected:
  // Writes with the two scripts; what model writes the n-th token reads the n-th entry of its own script.
  Completion write(const Pieces& large, const Pieces& small) {
    FakeEngine engine(vocabulary_,
                      {.model = scripted_models(vocabulary_, request_.prompt.size(), large, small), .faults = {}});
    auto generation = Generation::create(engine, request_);
    EXPECT_TRUE(generation) << generation.error().message;
    RunOptions options;
    options.events = [&](const Event& event) { record(event); };
    const auto ran = generation->run(engine, options);
    EXPECT_TRUE(ran) << ran.error().message;
    return generation->completion();
  }

  // Authors of the text, e.g. "L: x So,|S: is."
  static std::string layout(const Completion& completion) {
    std::string result;
    for (const Segment& segment : completion.segments) {
      if (!result.empty()) result += "|";
      result += segment.author == Author::large ? "L:" : segment.author == Author::small ? "S:" : "F:";
      result += completion.text.substr(segment.begin, segment.end - segment.begin);
    }
    return result;
  }

  void record(const Event& event) {
    if (const auto* token = std::get_if<TokenEvent>(&event))
      (token->committed ? shown_ : dropped_) +=
          token->committed ? std::string(token->bytes) : std::string(vocabulary_.piece(token->id));
    if (const auto* segment = std::get_if<SegmentEvent>(&event))
      switches_.push_back(std::string(name(segment->to)) + " " + std::string(name(segment->why)));
    if (const auto* judged = std::get_if<JudgedEvent>(&event)) judged_ += judged->large_logprobs.size();
  }

  FakeVocabulary vocabulary_ = tricky_vocabulary();
  Request request_ = tricky_request(vocabulary_);
  std::string shown_, dropped_;
  std::vector<std::string> switches_;
  std::size_t judged_ = 0;
};

TEST_F(Relay, HandoffKeepsCueInText) {
  const Completion done = write({"So,", "", "", "", " ok"}, {"", " the", " x", ".", " we"});
  EXPECT_EQ(layout(done), "L:So,|S: the x.|L: ok");
  EXPECT_EQ(shown_, done.text);
  EXPECT_EQ(dropped_, " we");
  EXPECT_EQ(switches_, (std::vector<std::string>{"small cue", "large sentence_end"}));
  EXPECT_EQ(done.usage.handoffs, 1u);
  EXPECT_EQ(done.usage.dropped, 1u);
}

TEST_F(Relay, TheNextCharacterDecidesWhetherACueIsComplete) {
  const Completion confirmed = write({" Thus", "", "", " ok"}, {"", " the", ".", "\n"});
  EXPECT_EQ(layout(confirmed), "L: Thus|S: the.|L: ok");
}

TEST_F(Relay, ALongerWordTakesTheHandoffBack) {
  const Completion done = write({" Now", "here", " ok"}, {"", "here", " x"});
  EXPECT_EQ(layout(done), "L: Nowhere ok");
  EXPECT_EQ(dropped_, "here");
}

TEST_F(Relay, ACueThatTheLargeModelItselfCompletesFiresAfterItsToken) {
  const Completion done = write({" Now", " we", "", " ok"}, {"", "here", ".\n\n"});
  EXPECT_EQ(layout(done), "L: Now we|S:.\n\n|L: ok");
}

TEST_F(Relay, AKnownButUnselectedCueTakesTheHandoffBack) {
  const Completion done = write({" Now", ",", " we"}, {"", ",", " x"});
  EXPECT_EQ(layout(done), "L: Now, we");
}

TEST_F(Relay, ACueThatEndsInASpaceKeepsTheNextWord) {
  const Completion done = write({" So", "", "", " ok"}, {"", " we", ".\n\n", " x"});
  EXPECT_EQ(layout(done), "L: So|S: we.\n\n|L: ok");
}

TEST_F(Relay, SeveralProvisionalTokensGoBackTogether) {
  // "That means" is selected, "That means that" is known and not selected.
  const Completion done = write({" That", " means", " that", " x"}, {"", "", " that", " we"});
  EXPECT_EQ(layout(done), "L: That means that x");
  EXPECT_EQ(dropped_, " that we");
}

TEST_F(Relay, AStopInsideANumberEndsNothing) {
  const Completion done = write({"So,", "", "", "", "", "", " ok"}, {"", "3", ".", "14", " x", "!", "\n"});
  EXPECT_EQ(layout(done), "L:So,|S:3.14 x!|L: ok");
}

TEST_F(Relay, AnEndInsideATokenKeepsTheWholeToken) {
  const Completion done = write({"So,", "", "", " ok"}, {"", " x", ".\n\n", " we"});
  EXPECT_EQ(layout(done), "L:So,|S: x.\n\n|L: ok");
  EXPECT_EQ(done.usage.dropped, 0u);
}

TEST_F(Relay, TheCapHandsBack) {
  request_.policy.max_small_tokens = 3;
  const Completion done = write({"So,", "", "", "", " ok"}, {"", " x", " x", " x", " x"});
  EXPECT_EQ(layout(done), "L:So,|S: x x x|L: ok");
  EXPECT_EQ(switches_.back(), "large cap");
}

TEST_F(Relay, TheSmallModelCannotEndTheTextWhileThinking) {
  const Completion done = write({"So,", "", " ok"}, {"", " x", "<end>"});
  EXPECT_EQ(layout(done), "L:So,|S: x|L: ok");
  EXPECT_EQ(switches_.back(), "large end_of_generation");
}

// ---------------------------------------------------------------- verification, guard, drafts

TEST_F(Relay, WhatTheLargeModelRefusesIsReplacedByItsOwnChoice) {
  request_.policy.verify = Verification::typical;
  const Completion done = write({"So,", " the", " we", ".", " ok"}, {"", " the", " x", ".", " we"});
  EXPECT_EQ(layout(done), "L:So,|S: the|L: we. ok");
  EXPECT_EQ(shown_, done.text);  // nothing is shown before it is agreed to
  EXPECT_EQ(switches_, (std::vector<std::string>{"small cue", "large refused"}));
  EXPECT_EQ(done.usage.verified, 1u);
  EXPECT_EQ(done.usage.refused, 2u);
}

TEST_F(Relay, WhatTheLargeModelAgreesToStands) {
  for (const auto rule : {Verification::typical, Verification::strict}) {
    request_.policy.verify = rule;
    const Completion done = write({"So,", " the", " x", ".", " ok"}, {"", " the", " x", ".", " we"});
    EXPECT_EQ(layout(done), "L:So,|S: the x.|L: ok");
    EXPECT_EQ(done.usage.verified, 3u);
    EXPECT_EQ(done.usage.refused, 0u);
  }
}

TEST_F(Relay, TheThinkingEndsOnlyOnceTheLargeModelAgrees) {
  request_.policy.verify = Verification::typical;
  const Completion refused = write({"So,", " x", " we", "</think>", ""}, {"", " x", "</think>", "", " ok"});
  EXPECT_EQ(layout(refused), "L:So,|S: x|L: we</think>|S: ok");
  switches_.clear();
  const Completion agreed = write({"So,", " x", "</think>"}, {"", " x", "</think>", " ok"});
  EXPECT_EQ(switches_, (std::vector<std::string>{"small cue"}));  // it goes on writing: nobody takes over
  EXPECT_EQ(layout(agreed), "L:So,|S: x</think> ok");
  EXPECT_EQ(agreed.answer, "ok");
}

TEST_F(Relay, AStopStringInWhatTheLargeModelAgreedToEndsTheText) {
  request_.policy.verify = Verification::strict;
  request_.policy.answer_by = Model::small;
  request_.stop = {" ok"};
  const Completion done = write({" we", "</think>", " x", " ok", "<end>"}, {"", "", " x", " ok", " we"});
  EXPECT_EQ(done.finish, FinishReason::stop_string);
  EXPECT_EQ(done.text, " we</think> x");
  EXPECT_EQ(shown_, done.text);
}

TEST_F(Relay, WhereEverythingIsTriedTheSmallModelWritesUntilItIsRefused) {
  request_.policy.verify = Verification::typical;
  request_.policy.handoffs = HandoffRule::always;
  const Completion done = write({" we", " know", ".", " Now", " x", " ok"}, {"", " know", ".", " the", " x", " ok"});
  EXPECT_EQ(layout(done), "L: we|S: know.|L: Now|S: x ok");
  EXPECT_EQ(done.usage.handoffs, 2u);
}

TEST_F(Relay, StrictVerificationLetsTheSmallModelAnswerNothingOfItsOwn) {
  request_.policy.verify = Verification::strict;
  request_.policy.answer_by = Model::small;
  const Completion done = write({" we", "</think>", " ok", " we", " know"}, {"", "", " ok", " x", " know"});
  EXPECT_EQ(done.text, " we</think> ok we know");
  EXPECT_EQ(layout(done), "L: we</think>|S: ok|L: we|S: know");
}

TEST_F(Relay, TheGuardHandsBackWithoutTheDoubtfulToken) {
  request_.policy.guard_margin = 0.5;
  FakeEngine engine(vocabulary_, {.model = [&](Model model, std::span<const TokenId> context, std::span<float> logits) {
                      const std::size_t at = context.size() - 2;
                      const std::array<const char*, 5> small{"", " the", " x", ".", ""};
                      const std::array<const char*, 5> large{"So,", "", " we", " ok", "<end>"};
                      const auto* piece = model == Model::small ? small[std::min<std::size_t>(at, 4)]
                                                                : large[std::min<std::size_t>(at, 4)];
                      if (*piece != '\0') logits[static_cast<std::size_t>(vocabulary_.id(piece))] = 10;
                      if (model == Model::small && at == 2)
                        logits[static_cast<std::size_t>(vocabulary_.id(" ok"))] = 9.9F;
                    }});
  auto generation = Generation::create(engine, request_);
  RunOptions options;
  options.events = [&](const Event& event) { record(event); };
  ASSERT_TRUE(generation->run(engine, options));
  EXPECT_EQ(layout(generation->completion()), "L:So,|S: the|L: we ok");
  EXPECT_EQ(switches_, (std::vector<std::string>{"small cue", "large guard"}));
  EXPECT_EQ(dropped_, " x");
}

TEST_F(Relay, ADraftSavesDecodesAndEndsAtACue) {
  request_.policy.draft = {.small_model = true, .acceptance = 0.95};
  const Pieces large{" we", " know", " x", " we", " x", " know", " So", ",", "", "", " ok"};
  Pieces small = large;
  small[8] = " the";
  small[9] = ".\n\n";
  const auto decodes = [&](bool drafts) {
    request_.policy.draft.small_model = drafts;
    FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, request_.prompt.size(), large, small)});
    auto generation = Generation::create(engine, request_);
    EXPECT_TRUE(generation->run(engine));
    EXPECT_EQ(layout(generation->completion()), "L: we know x we x know So,|S: the.\n\n|L: ok");
    const Usage usage = generation->completion().usage;
    EXPECT_EQ(usage.drafted > 0, drafts);
    EXPECT_EQ(usage.accepted, usage.drafted);
    return generation->completion().timing.large_decodes + generation->completion().timing.verifies;
  };
  EXPECT_LT(decodes(true), decodes(false));
}

TEST_F(Relay, ADraftByLookupTakesNoSmallModel) {
  request_.policy = {.handoffs = HandoffRule::never, .draft = {.lookup = true}};
  Pieces large;
  for (int i = 0; i < 8; ++i) large.insert(large.end(), {" we", " know", " the", " x", ","});
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, request_.prompt.size(), large, {})});
  auto generation = Generation::create(engine, request_);
  ASSERT_TRUE(generation->run(engine));
  EXPECT_GT(generation->completion().usage.accepted, 15u);
  EXPECT_EQ(engine.decoded_rows(Model::small), 0u);
  EXPECT_LT(generation->completion().timing.large_decodes + generation->completion().timing.verifies, 25u);
}

TEST_F(Relay, AGuesserThatIsAlwaysWrongIsHardlyAsked) {
  request_.policy = {.handoffs = HandoffRule::never, .draft = {.small_model = true}};
  Pieces large(300, " x"), small(300, " we");
  large.push_back("<end>");
  request_.budgets.total = 290;
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, request_.prompt.size(), large, small)});
  auto generation = Generation::create(engine, request_);
  ASSERT_TRUE(generation->run(engine));
  EXPECT_LT(generation->completion().usage.drafted, 50u);
}

TEST_F(Relay, VerificationNeedsCachesThatCanBeCut) {
  request_.policy.verify = Verification::typical;
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, 2, {}, {}),
                                  .limits = {.window = 100, .batch = 8, .output_rows = 8, .can_cut = false}});
  const auto refused = Generation::create(engine, request_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  request_.policy.verify = Verification::off;
  request_.policy.draft.small_model = true;  // is left out
  EXPECT_TRUE(Generation::create(engine, request_));
}

TEST_F(Relay, TheMinimumLargeSegmentHidesEarlyCuesOnly) {
  request_.policy.min_large_tokens = 3;
  const Completion done = write({"So,", " x", " Again,", "", " ok"}, {"", "", "", ".\n\n"});
  EXPECT_EQ(layout(done), "L:So, x Again,|S:.\n\n|L: ok");
}

TEST_F(Relay, TheMinimumLargeSegmentDoesNotHideTheClosingTag) {
  request_.policy.min_large_tokens = 100;
  const Completion done = write({" x", "</think>"}, {"", "", " ok", "<end>"});
  EXPECT_EQ(layout(done), "L: x</think>|S: ok");
  EXPECT_EQ(done.thinking, "x");
  EXPECT_EQ(done.answer, "ok");
}

TEST_F(Relay, ATagSplitOverTokensEndsTheThinking) {
  const Completion done = write({" x", "</", "think", ">"}, {"", "", "", "", " ok", "<end>"});
  EXPECT_EQ(layout(done), "L: x</think>|S: ok");
  EXPECT_EQ(done.answer, "ok");
}

TEST_F(Relay, TheLargeModelAnswersWhereAskedTo) {
  request_.policy.answer_by = Model::large;
  const Completion done = write({"So,", "", "", " ok", "<end>"}, {"", " x", "</think>", "-"});
  EXPECT_EQ(layout(done), "L:So,|S: x</think>|L: ok");
}

TEST_F(Relay, NoHandoffInTheAnswer) {
  request_.policy.answer_by = Model::large;
  const Completion done = write({"</think>", "So,", " ok", "<end>"}, {"", "", " x"});
  EXPECT_EQ(layout(done), "L:</think>So, ok");
}

TEST_F(Relay, CatchUpJudgesWhatTheSmallModelWroteWhereAskedTo) {
  request_.judge = true;
  const Completion done = write({"So,", "", "", " ok"}, {"", " x", ".\n\n"});
  EXPECT_EQ(judged_, 2u);
  EXPECT_EQ(done.usage.judged, 2u);
  EXPECT_LT(done.usage.judged_logprob, 0);
}

TEST_F(Relay, NothingIsJudgedUnasked) {
  const Completion done = write({"So,", "", "", " ok"}, {"", " x", ".\n\n"});
  EXPECT_EQ(judged_, 0u);
  EXPECT_EQ(done.usage.judged, 0u);
}

TEST_F(Relay, UsageAddsUp) {
  const Completion done = write({"\n", "So,", "", "", "</think>"}, {"", "", " x", ".\n\n", "", " ok", "<end>"});
  EXPECT_EQ(done.usage.prompt, 2u);
  EXPECT_EQ(done.usage.large, 3u);
  EXPECT_EQ(done.usage.small, 3u);
  EXPECT_EQ(done.usage.thinking + done.usage.answer, done.usage.large + done.usage.small + done.usage.forced);
  EXPECT_EQ(done.usage.answer, 1u);
}

// ---------------------------------------------------------------- budgets

TEST_F(Relay, TheThinkingBudgetForcesTheClosingTag) {
  request_.budgets = {.total = 40, .thinking = 4, .answer = 8};
  const Completion done = write({" x", " we", " x", " we", " x", " we"}, {"", "", "", "", "", "", "", " ok", "<end>"});
  EXPECT_EQ(layout(done), "L: x we x we|F:\n</think>\n\n|S: ok");
  EXPECT_EQ(done.usage.forced, 3u);
  EXPECT_EQ(switches_, (std::vector<std::string>{"forced budget", "small phase"}));
}

TEST_F(Relay, TheTagIsForcedAtASentenceEndThatComesInTime) {
  request_.budgets = {.total = 100, .thinking = 16, .answer = 8};
  Pieces large(30, " x");
  large[14] = ".";
  const Completion done = write(large, Pieces(40, " ok"));
  EXPECT_TRUE(layout(done).find(" x.|F:\n</think>") != std::string::npos) << layout(done);
}

TEST_F(Relay, AnswerTokensStayReserved) {
  request_.budgets = {.total = 20, .thinking = -1, .answer = 6};
  const Completion done = write(Pieces(40, " x"), Pieces(40, " ok"));
  EXPECT_EQ(done.usage.large, 11u);  // 20 less 6 for the answer and 3 for the forced tag
  EXPECT_EQ(done.usage.small, 5u);   // the line breaks after the tag are the first of the 6 answer tokens
  EXPECT_EQ(done.finish, FinishReason::length);
}

TEST_F(Relay, ABudgetOfNoThinkingAnswersAtOnce) {
  request_.prompt_state = PromptState::before_thinking;
  request_.budgets.thinking = 0;
  request_.budgets.total = 30;
  const Completion done = write(Pieces(40, " x"), {"", "", "", "", " ok", "<end>"});
  EXPECT_EQ(layout(done), "F:<think>\n</think>\n\n|S: ok");
  EXPECT_EQ(done.thinking, "");
  EXPECT_EQ(done.answer, "ok");
}

TEST_F(Relay, TheTotalBudgetEndsTheText) {
  request_.budgets.total = 5;
  request_.tags = {};
  const Completion done = write(Pieces(40, " x"), Pieces(40, " ok"));
  EXPECT_EQ(done.usage.large, 5u);
  EXPECT_EQ(done.finish, FinishReason::length);
}

TEST_F(Relay, AModelWithoutThinkingAnswersWithItsWholeText) {
  request_.tags = {};
  request_.prompt_state = PromptState::before_thinking;
  const Completion done = write({"\n", "So,", "", " ok"}, {"", "", ".\n\n"});
  EXPECT_EQ(layout(done), "L:\nSo,|S:.\n\n|L: ok");
  EXPECT_EQ(done.thinking, "");
  EXPECT_EQ(done.answer, "So,.\n\n ok");
}

TEST_F(Relay, WhereTheClosingTagDoesNotFitNothingIsForced) {
  request_.budgets.total = 2;
  const Completion done = write(Pieces(40, " x"), Pieces(40, " ok"));
  EXPECT_EQ(layout(done), "L: x x");
  EXPECT_EQ(done.finish, FinishReason::length);
}

TEST_F(Relay, ThinkingWithoutABeginTagHasItsBudgetAndNoStopStrings) {
  request_.tags.begin.clear();
  request_.prompt_state = PromptState::before_thinking;
  request_.stop = {" x"};
  request_.budgets = {.total = 40, .thinking = 4, .answer = 8};
  const Completion done = write(Pieces(40, " x"), {"", "", "", "", "", "", "", " ok", "<end>"});
  EXPECT_EQ(layout(done), "L: x x x x|F:\n</think>\n\n|S: ok");
}

TEST_F(Relay, AProvisionalHandoffGivesItsRoomBackWhenTheBudgetIsUsedUp) {
  request_.tags = {};
  request_.budgets.total = 3;
  const Completion done = write({" That", " means", " ok"}, {"", "", " that"});
  EXPECT_EQ(layout(done), "L: That means ok");
  EXPECT_EQ(dropped_, " that");
}

// ---------------------------------------------------------------- stop strings

TEST_F(Relay, AProvisionalTokenIsNoStopString) {
  request_.tags = {};
  request_.stop = {" that"};
  const Completion done = write({" That", " means", " ok", "", "<end>"}, {"", "", " that", ".\n\n"});
  EXPECT_EQ(layout(done), "L: That means ok|S:.\n\n");
  EXPECT_EQ(done.finish, FinishReason::stop);
}

TEST_F(Relay, NoStopStringBeforeTheBeginTag) {
  request_.prompt_state = PromptState::before_thinking;
  request_.stop = {"\n"};
  const Completion done = write({"\n", "<think>", " x", "</think>"}, {"", "", "", "", " ok", "\n", " we"});
  EXPECT_EQ(done.text, "\n<think> x</think> ok");
  EXPECT_EQ(done.finish, FinishReason::stop_string);
}

TEST_F(Relay, AStopStringEndsTheAnswerBeforeIt) {
  request_.stop = {"we x"};
  const Completion done = write({" we", " x", "</think>"}, {"", "", "", " ok", " we", " x", " the"});
  EXPECT_EQ(done.finish, FinishReason::stop_string);
  EXPECT_EQ(done.text, " we x</think> ok ");
  EXPECT_EQ(shown_, done.text);
  EXPECT_EQ(done.answer, "ok");
}

TEST_F(Relay, WhatMayBecomeAStopStringIsHeldBackAndThenShown) {
  request_.stop = {" we the"};
  const Completion done = write({"</think>"}, {"", " ok", " we", " x", "<end>"});
  EXPECT_EQ(done.finish, FinishReason::stop);
  EXPECT_EQ(shown_, done.text);
  EXPECT_EQ(done.answer, "ok we x");
}

TEST_F(Relay, HeldBackTextIsShownWhenTheTextEnds) {
  request_.stop = {" we the"};
  const Completion done = write({"</think>"}, {"", " ok", " we", "<end>"});
  EXPECT_EQ(shown_, done.text);
  EXPECT_EQ(done.answer, "ok we");
}

// ---------------------------------------------------------------- policies

TEST_F(Relay, LargeOnlyNeverAsksTheSmallModel) {
  request_.policy.handoffs = HandoffRule::never;
  request_.policy.answer_by = Model::large;
  const Completion done = write({"So,", " x", ".", "</think>", " ok", "<end>"}, Pieces(10, "!"));
  EXPECT_EQ(layout(done), "L:So, x.</think> ok");
}

TEST_F(Relay, SmallOnlyNeverAsksTheLargeModel) {
  request_.policy.thinker = Model::small;
  request_.policy.handoffs = HandoffRule::never;
  const Completion done = write(Pieces(10, "!"), {"So,", " x", ".", "</think>", " ok", "<end>"});
  EXPECT_EQ(layout(done), "S:So, x.</think> ok");
}

TEST_F(Relay, RandomHandsOverAtSentenceStartsOnly) {
  request_.policy.handoffs = HandoffRule::random;
  request_.policy.random_rate = 1;
  const Completion done = write({" x", " we", ".", "", "", " ok"}, {"", "", "", " we", ".\n\n", " x"});
  EXPECT_EQ(layout(done), "L: x we.|S: we.\n\n|L: ok");
}

TEST_F(Relay, RandomTakesBackAtAStopThatIsNoEnd) {
  request_.policy.handoffs = HandoffRule::random;
  request_.policy.random_rate = 1;
  const Completion done = write({"3", ".", "14", " ok"}, {"", "", "14", " x"});
  EXPECT_EQ(layout(done), "L:3.14 ok");
}

// ---------------------------------------------------------------- running

TEST_F(Relay, CancellationKeepsWhatWasWrittenAndCanGoOn) {
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, 2, {"So,", "", "", " ok"}, {"", " x", ".\n\n"}),
                                  .faults = {}});
  auto generation = Generation::create(engine, request_);
  ASSERT_TRUE(generation);
  std::atomic<bool> cancel{false};
  RunOptions options;
  options.cancel = &cancel;
  options.events = [&](const Event& event) {
    if (std::holds_alternative<TokenEvent>(event)) cancel = true;
  };
  const auto stopped = generation->run(engine, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(generation->completion().text, "So,");
  EXPECT_EQ(generation->completion().finish, FinishReason::cancelled);
  ASSERT_TRUE(generation->run(engine));
  EXPECT_EQ(layout(generation->completion()), "L:So,|S: x.\n\n|L: ok");
}

TEST_F(Relay, BadRequestsAreRefusedWithASentence) {
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, 2, {}, {}),
                                  .faults = {},
                                  .limits = {.window = 8, .batch = 4, .output_rows = 4}});
  const auto kind = [&](auto change) {
    Request request = tricky_request(vocabulary_);
    change(request);
    const auto result = Generation::create(engine, request);
    return result ? std::optional<ErrorKind>{} : result.error().kind;
  };
  EXPECT_EQ(kind([](Request& r) { r.prompt.clear(); }), ErrorKind::bad_input);
  EXPECT_EQ(kind([](Request& r) { r.prompt = {5000}; }), ErrorKind::bad_input);
  EXPECT_EQ(kind([](Request& r) { r.prompt.assign(8, 2); }), ErrorKind::too_long);
  EXPECT_EQ(kind([](Request& r) { r.sampling.temperature = -1; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.sampling.top_p = 0; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.sampling.min_p = 2; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.sampling.repeat_penalty = 0; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.policy.random_rate = 2; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.policy.max_small_tokens = 0; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.budgets.total = -2; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.stop = {""}; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.tags.ends = {std::string(65, 'x')}; }), ErrorKind::usage);
  EXPECT_EQ(kind([](Request& r) { r.budgets.answer = 6; }), ErrorKind::usage);  // leaves no room for thinking
}

TEST_F(Relay, ACommonPrefixOfTwoTurnsIsNotPrefilledAgain) {
  FakeEngine engine(vocabulary_, {.model = scripted_models(vocabulary_, 2, {" x", "<end>"}, {}), .faults = {}});
  auto first = Generation::create(engine, request_);
  ASSERT_TRUE(first->run(engine));
  const auto rows = engine.decoded_rows(Model::large);
  Request next = request_;
  next.prompt.assign(first->log().ids().begin(), first->log().ids().end());
  next.prompt.push_back(vocabulary_.id("<user>"));
  next.tags = {};
  next.budgets.total = 1;
  auto second = Generation::create(engine, next);
  second->reuse_cache(*first, engine);
  ASSERT_TRUE(second->run(engine));
  EXPECT_EQ(engine.decoded_rows(Model::large) - rows, 1u);
}

}  // namespace
}  // namespace relaygen::testing
