// The stages of a calibration on scripted models: what they store, that they do nothing twice, and what a proof compares.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "calibrate/analysis.h"
#include "calibrate/findings.h"
#include "calibrate/stages.h"
#include "engine/fake/fake_engine.h"
#include "support/scripted.h"

namespace relaygen::calibrate {
namespace {

class Stages : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::temp_directory_path() /
            ("relaygen-stages-" + std::to_string(::getpid()) + "-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".db");
    std::filesystem::remove(file_);
    for (int i = 0; i < 6; ++i)
      problems_.push_back({.id = "p" + std::to_string(i), .question = std::string(1, static_cast<char>('a' + i))});
  }
  void TearDown() override {
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(file_.string() + ending);
  }

  FakeEngine engine(FakeFaults faults = {}) const {
    return FakeEngine(vocabulary_, {.model = relaygen::testing::hashed_models(vocabulary_, 9, 0.7),
                                    .faults = std::move(faults),
                                    .limits = {.window = 512, .batch = 64, .output_rows = 16}});
  }
  StageContext context(Engine& engine) {
    return {.engine = &engine,
            .cancel = &cancel_,
            .progress = [this](const StageProgress& one) { told_.push_back(one); },
            .say = [this](const std::string& sentence) { said_.push_back(sentence); }};
  }
  RequestOf request_of() const {
    return [this](const eval::Problem& problem) -> Result<Request> {
      Request request = relaygen::testing::tricky_request(vocabulary_);
      if (problem.question == "z") return fail(ErrorKind::too_long, "the prompt is too long", "shorten it");
      request.prompt.push_back(static_cast<TokenId>(problem.question[0] - 'a'));
      request.sampling = {.temperature = 0.6F};
      request.budgets.total = 60;
      return request;
    };
  }
  ProofOptions proof_options() const {
    const Request request = relaygen::testing::tricky_request(vocabulary_);
    return {.sampling = {.temperature = 0.6F}, .budgets = {.total = 60}, .tags = request.tags, .max_small_tokens = 12};
  }
  std::vector<Trace> all_traces(const Store& store) const {
    std::vector<Trace> traces;
    EXPECT_TRUE(store.for_each([&](const Trace& trace) -> Status {
      traces.push_back(trace);
      return std::monostate{};
    }));
    return traces;
  }

  FakeVocabulary vocabulary_ = relaygen::testing::tricky_vocabulary();
  std::filesystem::path file_;
  std::vector<eval::Problem> problems_;
  std::atomic<bool> cancel_{false};
  std::vector<StageProgress> told_;
  std::vector<std::string> said_;
};

TEST_F(Stages, WriteAndReadEveryTraceOnce) {
  auto store = Store::open(file_);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE(store->add_problems(problems_));
  auto pair = engine();
  ASSERT_TRUE(write_traces(*store, problems_, 0, 3, request_of(), context(pair)));
  ASSERT_TRUE(write_traces(*store, problems_, 1, 3, request_of(), context(pair)));
  ASSERT_TRUE(judge_traces(*store, false, context(pair)));
  EXPECT_EQ(told_.front().done, 0U);
  EXPECT_EQ(told_.back().done, 12U);
  const auto decodes = pair.decodes();
  ASSERT_TRUE(write_traces(*store, problems_, 1, 3, request_of(), context(pair)));
  ASSERT_TRUE(judge_traces(*store, false, context(pair)));
  EXPECT_EQ(pair.decodes(), decodes);

  const auto traces = all_traces(*store);
  ASSERT_EQ(traces.size(), 12U);
  EXPECT_EQ(traces[1].key, (TraceKey{"p0", 1}));
  EXPECT_NE(traces[0].tokens, traces[1].tokens);
  for (const Trace& trace : traces) {
    ASSERT_EQ(trace.ends.size(), trace.tokens.size());
    EXPECT_EQ(trace.ends.empty() ? 0 : trace.ends.back(), trace.text.size());
    const auto large = store->opinions(trace.key, Model::large);
    ASSERT_TRUE(large);
    EXPECT_EQ(large->of_asked.size(), trace.tokens.size());
  }
}

TEST_F(Stages, WhatCannotBeAskedIsSaidAndLeftOut) {
  problems_.push_back({.id = "long", .question = "z"});
  auto store = Store::open(file_);
  ASSERT_TRUE(store->add_problems(problems_));
  auto pair = engine();
  ASSERT_TRUE(write_traces(*store, problems_, 0, 3, request_of(), context(pair)));
  EXPECT_EQ(said_, (std::vector<std::string>{"problem long is left out: the prompt is too long"}));
  EXPECT_EQ(store->traces()->size(), 6U);
}

TEST_F(Stages, AFailedDecodeKeepsWhatIsDone) {
  auto store = Store::open(file_);
  ASSERT_TRUE(store->add_problems(problems_));
  auto failing = engine([](std::uint64_t decode) { return decode == 100 ? -2 : 0; });
  const auto failed = write_traces(*store, problems_, 0, 3, request_of(), context(failing));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::decode_failed);
  const auto kept = store->traces()->size();
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, 6U);
  auto pair = engine();
  ASSERT_TRUE(write_traces(*store, problems_, 0, 3, request_of(), context(pair)));
  // The same traces as without the failure.
  auto other = Store::open(file_.string() + "2");
  ASSERT_TRUE(other->add_problems(problems_));
  auto fresh = engine();
  ASSERT_TRUE(write_traces(*other, problems_, 0, 3, request_of(), context(fresh)));
  const auto a = all_traces(*store), b = all_traces(*other);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].tokens, b[i].tokens);
  for (const char* ending : {"2", "2-wal", "2-shm"}) std::filesystem::remove(file_.string() + ending);
}

// A proof takes a sampled trace for what the large model alone would write from any of its places.
TEST_F(Stages, WithItsSeedTheLargeModelWritesTheTraceAgainFromEveryPlace) {
  auto pair = engine();
  std::size_t finished = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    auto request = request_of()(problems_[seed % problems_.size()]);
    request->budgets.total = 300;
    auto trace = sample_trace(pair, std::move(*request), {"p", 0}, seed, cancel_);
    ASSERT_TRUE(trace) << trace.error().message;
    if (!trace->finished) continue;
    ++finished;
    trace->imported = true;  // so that the second arm has the trace's seed
    ProofOptions options = proof_options();
    options.budgets.total = 300;
    for (std::uint32_t token = 1; token < extent_of(*trace, options.tags).last_thinking; token += 3) {
      const auto texts = write_on(pair, *trace, token, options, problems_[0], cancel_);
      ASSERT_TRUE(texts) << texts.error().message;
      ASSERT_EQ(texts->size(), 2U);
      EXPECT_EQ((*texts)[1].arm, Arm::same);
      EXPECT_EQ((*texts)[1].small_tokens, 0U);
      EXPECT_EQ((*texts)[1].text, trace->text.substr(trace->begin_of(token)));
      ++compared;
    }
  }
  EXPECT_GT(finished, 5U);
  EXPECT_GT(compared, 50U);
}

// Budgets are those of the whole text: the thinking is closed where it was closed, the text ends where it ended.
TEST_F(Stages, AContinuationKeepsThePlanOfTheWholeText) {
  auto pair = engine();
  std::size_t compared = 0, forced = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ProofOptions options = proof_options();
    options.budgets = {.total = 60, .thinking = seed % 2 == 0 ? -1 : 24, .answer = seed % 3 == 0 ? -1 : 16};
    auto request = request_of()(problems_[seed % problems_.size()]);
    request->budgets = options.budgets;
    request->prompt_state = PromptState::thinking;
    auto trace = sample_trace(pair, std::move(*request), {"p", 0}, seed, cancel_);
    ASSERT_TRUE(trace) << trace.error().message;
    forced += !trace->finished;
    trace->imported = true;
    // The line break before a forced tag is no token that a model wrote.
    for (std::uint32_t token = 1; token + 1 < extent_of(*trace, options.tags).last_thinking; token += 2) {
      const auto texts = write_on(pair, *trace, token, options, problems_[0], cancel_);
      ASSERT_TRUE(texts) << texts.error().message;
      EXPECT_EQ((*texts)[1].text, trace->text.substr(trace->begin_of(token))) << seed << " " << token;
      ++compared;
    }
  }
  EXPECT_GT(forced, 5U);
  EXPECT_GT(compared, 50U);
}

TEST_F(Stages, AThinkingThatWasClosedByForceIsNotFinished) {
  auto pair = engine();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto request = request_of()(problems_[0]);
    request->budgets.thinking = 2;
    const auto trace = sample_trace(pair, std::move(*request), {"p", 0}, seed, cancel_);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_FALSE(trace->finished && extent_of(*trace, proof_options().tags).last_thinking > 2);
  }
}

TEST_F(Stages, AProofLetsTheSmallModelBegin) {
  auto pair = engine();
  auto request = request_of()(problems_[0]);
  const auto trace = sample_trace(pair, std::move(*request), {"p0", 0}, 77, cancel_);
  ASSERT_TRUE(trace);
  const auto texts = write_on(pair, *trace, 2, proof_options(), problems_[0], cancel_);
  ASSERT_TRUE(texts) << texts.error().message;
  EXPECT_EQ((*texts)[0].arm, Arm::relay);
  EXPECT_GT((*texts)[0].small_tokens, 0U);
  EXPECT_LE((*texts)[0].small_tokens, 12U);
  EXPECT_EQ((*texts)[1].arm, Arm::other);
  EXPECT_EQ((*texts)[1].small_tokens, 0U);
  // Nothing depends on what the engine did before.
  auto fresh = engine();
  const auto again = write_on(fresh, *trace, 2, proof_options(), problems_[0], cancel_);
  EXPECT_EQ((*again)[0].text, (*texts)[0].text);
  EXPECT_EQ((*again)[1].text, (*texts)[1].text);
}

TEST_F(Stages, AreStoppedByTheFlag) {
  auto store = Store::open(file_);
  ASSERT_TRUE(store->add_problems(problems_));
  auto pair = engine();
  cancel_ = true;
  EXPECT_EQ(write_traces(*store, problems_, 0, 3, request_of(), context(pair)).error().kind, ErrorKind::cancelled);
  cancel_ = false;
  ASSERT_TRUE(write_traces(*store, problems_, 0, 3, request_of(), context(pair)));
  cancel_ = true;
  EXPECT_EQ(judge_traces(*store, false, context(pair)).error().kind, ErrorKind::cancelled);
}

TEST_F(Stages, ADamagedTraceOrOpinionIsSaid) {
  auto store = Store::open(file_);
  ASSERT_TRUE(store->add_problems(problems_));
  Trace trace{.key = {"p0", 0}, .prompt = {0}, .tokens = {1, 2}, .ends = {1}, .text = "a"};
  ASSERT_TRUE(store->put(trace));
  const auto read = store->for_each([](const Trace&) -> Status { return std::monostate{}; });
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("is damaged: a trace of p0 is not whole"), std::string::npos);
  Opinions opinions{.margin = {0.5F, 0.5F}, .logprob = {-1}, .entropy = {1, 1}, .top = {1, 2}, .of_asked = {}};
  ASSERT_TRUE(store->put(trace.key, Model::small, opinions));
  EXPECT_FALSE(store->opinions(trace.key, Model::small));
}

TEST_F(Stages, TheStoreRefusesOtherQuestionsOfAnId) {
  auto store = Store::open(file_);
  ASSERT_TRUE(store->add_problems(problems_));
  ASSERT_TRUE(store->add_problems(problems_));
  const std::vector<eval::Problem> other{{.id = "p0", .question = "something else"}};
  const auto refused = store->add_problems(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  auto changed = problems_;
  changed[3].expected = "5";
  EXPECT_NE(store->add_problems(changed).error().message.find("the expected answer ''"), std::string::npos);
  changed = problems_;
  changed[2].options = {"x"};
  EXPECT_FALSE(store->add_problems(changed));
}

TEST_F(Stages, AReaderSeesTheFileAsItWas) {
  auto writer = Store::open(file_);
  ASSERT_TRUE(writer->add_problems(problems_));
  const auto reader = Store::open_to_read(file_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->traces()->size(), 0U);
  ASSERT_TRUE(writer->put(Trace{.key = {"p0", 0}, .prompt = {0}, .tokens = {1}, .ends = {1}, .text = "a"}));
  EXPECT_EQ(writer->traces()->size(), 1U);
  EXPECT_EQ(reader->traces()->size(), 0U);
  EXPECT_EQ(Store::open_to_read(file_)->traces()->size(), 1U);
}

}  // namespace
}  // namespace relaygen::calibrate
