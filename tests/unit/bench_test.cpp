#include "bench/bench.h"

#include <gtest/gtest.h>

#include <memory>

#include "bench/batch_costs.h"
#include "bench/plan.h"
#include "engine/fake/fake_engine.h"

namespace relaygen::bench {
namespace {

constexpr TokenId kEnd = 0;

FakeVocabulary vocabulary() {
  return {{"<end>", "<think>", "</think>", "\n", " So", ",", " we", " add", " two", ".", " Now", " see", " x", "!"},
          {kEnd}};
}

// A model that disagrees with every trace: what comes out of a replay is not its doing.
FakeEngine engine() {
  return {vocabulary(), {.model = [](Model, std::span<const TokenId>, std::span<float> logits) { logits[13] = 1; }}};
}

std::vector<TokenId> tokens(std::string_view text) { return *vocabulary().tokenize(text); }

const std::string kText =
    "<think>\n we see x. Now, we add two. So, we add two. we see x. So, we see. we see x.\n</think>\n two.";

std::vector<Trace> traces() { return {{"a", tokens(kText)}, {"b", tokens("<think>\n we add. So, we see x.")}}; }

Profile profile() {
  Profile made;
  made.cues = {{"So,", true}};
  made.min_large_tokens = 0;
  made.small_may_answer = true;
  return made;
}

NamedPolicy policy(const std::string& name) { return {name, *prepare_policy({.name = name}, profile())}; }

Window window() { return whole_trace(traces()[0], tokens(" x"), PromptState::before_thinking); }

TEST(Replay, GivesTheTextUnderEveryPolicy) {
  for (const std::string name : {"large-only", "small-only", "relay", "answer-only", "random", "all-candidates"}) {
    FakeEngine fake = engine();
    Replayer replayer(fake);
    ASSERT_TRUE(replayer.prepare(window()));
    const auto account = replayer.run(policy(name));  // fails where another text comes out
    ASSERT_TRUE(account) << name << ": " << account.error().message;
    EXPECT_EQ(account->usage.generated(), window().text()) << name;
  }
}

TEST(Replay, HandsOverAtTheCuesOfTheText) {
  FakeEngine fake = engine();
  Replayer replayer(fake);
  ASSERT_TRUE(replayer.prepare(window()));
  const auto account = replayer.run(policy("relay"));
  ASSERT_TRUE(account);
  EXPECT_EQ(account->usage.handoffs, 3U);  // two cues and the answer
  EXPECT_EQ(account->usage.small, 4U + 3U + 3U);
}

TEST(Replay, DecodesForReal) {
  FakeEngine fake = engine();
  Replayer replayer(fake);
  ASSERT_TRUE(replayer.prepare(window()));
  const auto rows = [&] { return fake.decoded_rows(Model::large) + fake.decoded_rows(Model::small); };
  const std::uint64_t before = rows();
  const auto account = replayer.run(policy("relay"));
  ASSERT_TRUE(account);
  std::uint64_t booked = 0;
  for (const Batch& batch : account->schedule) booked += static_cast<std::uint64_t>(batch.rows);
  EXPECT_EQ(rows() - before, booked);
  EXPECT_EQ(account->measured.size(), account->schedule.size());
}

TEST(Replay, PaysForTheContextOnce) {
  FakeEngine fake = engine();
  Replayer replayer(fake);
  ASSERT_TRUE(replayer.prepare(window()));
  for (int i = 0; i < 3; ++i) {
    const auto account = replayer.run(policy("relay"));
    ASSERT_TRUE(account);
    EXPECT_LE(account->parts()[Part::prefill].rows, 1U);
  }
}

TEST(Replay, RefusesAWindowThatDoesNotFit) {
  FakeEngine fake(
      {vocabulary(), {.model = [](Model, auto, auto) {}, .limits = {.window = 40, .batch = 8, .output_rows = 4}}});
  Replayer replayer(fake);
  const auto prepared = replayer.prepare(window());
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind, ErrorKind::too_long);
}

TEST(Replay, NeedsATokenThatEndsAText) {
  FakeEngine fake({FakeVocabulary({"a", "b"}, {}), {.model = [](Model, auto, auto) {}}});
  Replayer replayer(fake);
  const auto prepared = replayer.prepare({"t", {0, 1}, 1, PromptState::thinking});
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().kind, ErrorKind::bad_input);
}

TEST(DryRun, HasTheScheduleOfARealRun) {
  for (const std::string name : {"large-only", "small-only", "relay", "answer-only"}) {
    FakeEngine fake = engine();
    const FakeVocabulary words = vocabulary();
    DryEngine dry(words, fake.limits());
    Schedule schedules[2];
    Engine* engines[2] = {&fake, &dry};
    for (int i = 0; i < 2; ++i) {
      Replayer replayer(*engines[i]);
      ASSERT_TRUE(replayer.prepare(window()));
      const auto account = replayer.run(policy(name));
      ASSERT_TRUE(account);
      schedules[i] = account->schedule;
    }
    ASSERT_EQ(schedules[0].size(), schedules[1].size()) << name;
    for (std::size_t b = 0; b < schedules[0].size(); ++b) {
      EXPECT_EQ(schedules[0][b].model, schedules[1][b].model);
      EXPECT_EQ(schedules[0][b].rows, schedules[1][b].rows);
      EXPECT_EQ(schedules[0][b].depth, schedules[1][b].depth);
      EXPECT_EQ(schedules[0][b].part, schedules[1][b].part);
    }
  }
}

TEST(Plan, PricesWhatAPolicyWouldDecode) {
  const FakeEngine fake = engine();
  const CostModel costs{CostTable(std::vector<BatchCost>{{0, 1, 1.0}}), CostTable(std::vector<BatchCost>{{0, 1, 0.1}})};
  const std::vector<NamedPolicy> policies{policy("large-only"), policy("small-only"), policy("relay")};
  const auto plans = plan_policies(fake, traces(), tokens(" x"), policies, costs, {});
  ASSERT_TRUE(plans);
  ASSERT_EQ(plans->size(), 3U);
  const auto& large = (*plans)[0];
  const auto all = traces()[0].tokens.size() + traces()[1].tokens.size();
  EXPECT_EQ(large.usage.generated(), all);
  EXPECT_DOUBLE_EQ(large.ideal.seconds(),
                   static_cast<double>(all + 2));  // a batch a token, and one a text to see its end
  EXPECT_NEAR((*plans)[1].speed_up, 10, 1e-9);
  EXPECT_GT((*plans)[2].speed_up, 1);
  EXPECT_LT((*plans)[2].speed_up, 10);
}

TEST(Traces, EndAtTheTokenThatEndsAText) {
  const FakeVocabulary words = vocabulary();
  const std::vector<NamedText> texts{{"a", " we see<end> x"}, {"b", "<end>"}};
  const auto read = tokenize_texts(texts, words, "file");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().tokens, tokens(" we see"));
  EXPECT_FALSE(tokenize_texts(std::span(texts).subspan(1), words, "file"));
}

TEST(Windows, AreSpreadOverTracesAndPlaces) {
  const FakeVocabulary words = vocabulary();
  const auto windows = cut_windows(words, traces(), {.windows = 4, .tokens = 3, .context = 5});
  ASSERT_EQ(windows.size(), 4U);
  EXPECT_EQ(windows[0].trace, "a");
  EXPECT_EQ(windows[1].trace, "b");
  EXPECT_EQ(windows[2].trace, "a");
  for (const Window& one : windows) {
    EXPECT_EQ(one.context, 5U);
    EXPECT_EQ(one.text(), 3U);
  }
  EXPECT_NE(windows[0].tokens, windows[2].tokens);
}

TEST(Windows, HaveTheTextBeforeThemAsContext) {
  const FakeVocabulary words = vocabulary();
  const std::vector<Trace> one{traces()[0]};
  const auto windows = cut_windows(words, one, {.windows = 1, .tokens = 3, .context = 5});
  const auto& text = one[0].tokens;
  const auto place = (text.size() - 3) / 2;
  EXPECT_TRUE(
      std::equal(windows[0].tokens.begin(), windows[0].tokens.end(), text.begin() + static_cast<long>(place) - 5));
  EXPECT_EQ(windows[0].state, PromptState::thinking);
}

TEST(Windows, FillAContextThatIsTooShortFromOtherTraces) {
  const FakeVocabulary words = vocabulary();
  const auto all = traces();
  const auto windows = cut_windows(words, all, {.windows = 2, .tokens = 1000, .context = 200});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].context, 200U);
  EXPECT_EQ(windows[0].text(), all[0].tokens.size());  // a text is never longer than its trace
  EXPECT_EQ(windows[0].state, PromptState::before_thinking);
  const auto context_end = windows[0].tokens.begin() + 200;
  EXPECT_TRUE(std::equal(all[1].tokens.rbegin(), all[1].tokens.rend(), std::make_reverse_iterator(context_end)));
}

TEST(Windows, BehindTheEndTagAreAnswers) {
  const FakeVocabulary words = vocabulary();
  const std::vector<Trace> answer{{"t", tokens("<think> x</think>\n two. two. two. two.")}};
  const auto windows = cut_windows(words, answer, {.windows = 1, .tokens = 3, .context = 1});
  EXPECT_EQ(windows[0].state, PromptState::answering);
}

// A clock that goes on by one second whenever it is asked.
Clock counting_clock() {
  return [now = std::make_shared<double>(0)] { return *now += 1; };
}

TEST(BenchReplay, ComparesPoliciesOnTheSameTokens) {
  FakeEngine fake = engine();
  const FakeVocabulary words = vocabulary();
  const auto windows = cut_windows(words, traces(), {.windows = 2, .tokens = 20, .context = 6});
  const std::vector<NamedPolicy> policies{policy("large-only"), policy("relay")};
  const auto result = bench_replay(fake, windows, policies, {.repetitions = 3, .clock = counting_clock()});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 2U);
  EXPECT_EQ(result->rows[0].usage.generated(), result->rows[1].usage.generated());
  EXPECT_EQ(result->rows[0].usage.small, 0U);
  EXPECT_GT(result->rows[1].usage.small, 0U);
  for (const BenchRow& row : result->rows) {
    EXPECT_EQ(row.depth, 6U);
    EXPECT_EQ(row.seconds.size(), 3U);
    EXPECT_EQ(row.over_ideal.size(), 3U);
    EXPECT_EQ(row.segments.size(), 2U);
    for (const Part part : kParts) EXPECT_EQ(row.actual[part].rows, row.ideal[part].rows);
  }
  for (const double ratio : result->rows[0].speed_up) EXPECT_EQ(ratio, 1);
  EXPECT_FALSE(result->costs.empty());
  EXPECT_TRUE(handoff_overhead(result->rows[1], result->rows[0]));
  EXPECT_FALSE(handoff_overhead(result->rows[0], result->rows[0]));
}

TEST(BenchReplay, StopsWhenAskedTo) {
  FakeEngine fake = engine();
  const FakeVocabulary words = vocabulary();
  const auto windows = cut_windows(words, traces(), {.windows = 1, .tokens = 20, .context = 6});
  const std::vector<NamedPolicy> policies{policy("large-only")};
  const std::atomic<bool> cancel = true;
  const auto result = bench_replay(fake, windows, policies, {.cancel = &cancel});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::cancelled);
}

TEST(TimeBatch, LeavesTheWarmUpOut) {
  FakeEngine fake = engine();
  const auto context = tokens(" we see x");
  ASSERT_TRUE(fill_cache(fake, Model::small, context));
  const auto times = time_batch(fake, Model::small, tokens(" we see x"), 2, 2,
                                {.warm_ups = 1, .repeats = 4, .seconds = 100}, counting_clock());
  ASSERT_TRUE(times);
  EXPECT_EQ(times->size(), 4U);
  EXPECT_EQ(fake.cached(Model::small), 4);
}

// A long prompt is read in several batches, some of them deeper than the decodes of a text with a short one.
TEST(PriceSchedule, PrefillAmongDecodesDoesNotPriceThem) {
  FakeEngine fake = engine();
  const Schedule schedule{{Model::large, Part::large_decode, 1, 10},
                          {Model::large, Part::prefill, 30, 40},
                          {Model::large, Part::large_decode, 1, 90}};
  // A clock on which a decode takes as many seconds as the rows that were decoded since it was last asked.
  const auto now = [&fake] { return static_cast<double>(fake.decoded_rows(Model::large)); };
  const auto costs = price_schedule(fake, schedule, now);
  ASSERT_TRUE(costs);
  EXPECT_NEAR(costs->seconds({Model::large, Part::large_decode, 1, 45}), 1, 1e-9);
  EXPECT_NEAR(costs->seconds({Model::large, Part::prefill, 30, 40}), 30, 1e-9);
}

TEST(PriceSchedule, HasACostForEveryBatch) {
  FakeEngine fake = engine();
  const Schedule schedule{{Model::large, Part::prefill, 7, 0},
                          {Model::large, Part::large_decode, 1, 7},
                          {Model::large, Part::catch_up, 5, 30},
                          {Model::small, Part::small_decode, 1, 9}};
  const auto costs = price_schedule(fake, schedule, counting_clock());
  ASSERT_TRUE(costs);
  for (const Batch& batch : schedule) EXPECT_GT(costs->seconds(batch), 0);
  EXPECT_EQ(fake.cached(Model::large), 0);
}

}  // namespace
}  // namespace relaygen::bench
