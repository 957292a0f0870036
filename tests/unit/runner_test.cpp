#include "eval/runner.h"

#include <gtest/gtest.h>

#include <map>

#include "eval/matching.h"
#include "io/hashing.h"

namespace relaygen::eval {
namespace {

const std::atomic<bool> kNever{false};

std::vector<StoredProblem> problems(std::size_t count) {
  std::vector<StoredProblem> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string id = "p" + std::to_string(i);
    result.push_back({{.id = id, .question = "q", .expected = "42"}, "q"});
  }
  return result;
}

// Writes what a function says, and remembers what it was asked for.
class ScriptedWriter : public Writer {
 public:
  using Script = std::function<Written(const StoredProblem&)>;
  ScriptedWriter(Script script, std::vector<std::pair<std::string, std::uint64_t>>* asked)
      : script_(std::move(script)), asked_(asked) {}
  Written write(const StoredProblem& problem, std::uint64_t seed, const std::atomic<bool>&) override {
    if (asked_ != nullptr) asked_->emplace_back(problem.problem.id, seed);
    return script_(problem);
  }

 private:
  Script script_;
  std::vector<std::pair<std::string, std::uint64_t>>* asked_;
};

Written good() {
  return {.output = Output{.text = "\\boxed{42}", .answer = "\\boxed{42}", .finish = FinishReason::stop}};
}
Written bad(ErrorKind kind = ErrorKind::decode_failed) { return {.error = Error{kind, "it broke", ""}}; }
Written server_down() { return {.error = Error{ErrorKind::bad_input, "it broke", ""}, .server_failed = true}; }

std::vector<Competitor> one(const std::string& name, ScriptedWriter::Script script,
                            std::vector<std::pair<std::string, std::uint64_t>>* asked = nullptr) {
  std::vector<Competitor> result;
  result.push_back({name, std::make_unique<ScriptedWriter>(std::move(script), asked)});
  return result;
}

RunnerOptions options(const std::atomic<bool>& cancel = kNever) { return {.seed = 5, .cancel = &cancel}; }

TEST(Schedule, EveryPolicyIsFirstEquallyOften) {
  const auto order = schedule({"a", "b", "c"}, problems(2), 3);
  ASSERT_EQ(order.size(), 18u);
  std::map<std::string, int> first;
  for (std::size_t i = 0; i < order.size(); i += 3) {
    ++first[order[i].policy];
    for (std::size_t j = 1; j < 3; ++j) {  // all policies in turn at one problem and sample
      EXPECT_EQ(order[i].problem, order[i + j].problem);
      EXPECT_EQ(order[i].sample, order[i + j].sample);
    }
  }
  EXPECT_EQ(first, (std::map<std::string, int>{{"a", 2}, {"b", 2}, {"c", 2}}));
}

TEST(Runner, PoliciesGetTheSameSeedsAndSamplesDifferentOnes) {
  auto store = Store::in_memory();
  std::vector<std::pair<std::string, std::uint64_t>> a, b;
  auto competitors = one(
      "a", [](const auto&) { return good(); }, &a);
  competitors.push_back({"b", std::make_unique<ScriptedWriter>([](const auto&) { return good(); }, &b)});
  auto with = options();
  with.samples = 2;
  ASSERT_TRUE(*write_missing(*store, problems(2), competitors, with));
  EXPECT_EQ(a, b);
  ASSERT_EQ(a.size(), 4u);
  EXPECT_EQ(a[0].second, output_seed(5, "p0", 0));
  EXPECT_EQ(a[1].second, output_seed(5, "p0", 1));
}

TEST(Runner, WritesExactlyWhatIsMissing) {
  auto store = Store::in_memory();
  std::vector<std::pair<std::string, std::uint64_t>> asked;
  auto competitors = one("a", [](const StoredProblem& p) { return p.problem.id == "p1" ? bad() : good(); });
  ASSERT_TRUE(*write_missing(*store, problems(3), competitors, options()));
  EXPECT_EQ(store->done()->size(), 2u);
  competitors = one(
      "a", [](const auto&) { return good(); }, &asked);
  ASSERT_TRUE(*write_missing(*store, problems(4), competitors, options()));
  ASSERT_EQ(asked.size(), 2u);  // the problem that was not asked before, then the error
  EXPECT_EQ(asked[0].first, "p3");
  EXPECT_EQ(asked[1].first, "p1");
  EXPECT_EQ((*store->find({"a", "p1", 0}))->attempts, 2u);
}

TEST(Runner, AServerThatFailsIsLeftOutAndTheOthersGoOn) {
  auto store = Store::in_memory();
  std::vector<std::pair<std::string, std::uint64_t>> asked;
  auto competitors = one(
      "broken", [](const auto&) { return server_down(); }, &asked);
  competitors.push_back({"good", std::make_unique<ScriptedWriter>([](const auto&) { return good(); }, nullptr)});
  std::vector<std::string> said;
  auto with = options();
  with.failures_in_a_row = 3;
  with.say = [&](const std::string& sentence) { said.push_back(sentence); };
  ASSERT_TRUE(*write_missing(*store, problems(10), competitors, with));
  EXPECT_EQ(asked.size(), 3u);
  EXPECT_EQ(store->done()->size(), 10u);
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[0], "broken, problem p0: it broke");
  EXPECT_NE(said[3].find("failed 3 times in a row"), std::string::npos);
}

TEST(Runner, ProblemsThatCannotBeWrittenDoNotStopTheOthers) {
  auto store = Store::in_memory();
  const auto script = [](const StoredProblem& problem) { return problem.problem.id < "p7" ? bad() : good(); };
  auto competitors = one("a", script);
  auto with = options();
  with.failures_in_a_row = 3;
  ASSERT_TRUE(*write_missing(*store, problems(9), competitors, with));
  EXPECT_EQ(store->done()->size(), 2u);
  EXPECT_EQ(store->failed()->size(), 7u);
}

TEST(Runner, WhatFailedBeforeComesLast) {
  auto store = Store::in_memory();
  auto failing = one("a", [](const auto&) { return bad(); });
  ASSERT_TRUE(*write_missing(*store, problems(2), failing, options()));
  std::vector<std::pair<std::string, std::uint64_t>> asked;
  auto working = one(
      "a", [](const auto&) { return good(); }, &asked);
  ASSERT_TRUE(*write_missing(*store, problems(4), working, options()));
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[0].first, "p2");
  EXPECT_EQ(asked[3].first, "p1");
}

TEST(MatchRandomRate, LeavesOutProblemsThatCannotBeWritten) {
  const auto writes = [](double share) {
    return [share](const StoredProblem& problem) {
      if (problem.problem.id == "p0") return bad();
      Written written = good();
      written.output->tokens.generated = 1000;
      written.output->tokens.authors = TokenCounts::Authors{.small = static_cast<std::uint64_t>(1000 * share)};
      return written;
    };
  };
  ScriptedWriter relay(writes(0.25), nullptr);
  const auto make = [&](double rate) { return std::make_unique<ScriptedWriter>(writes(rate), nullptr); };
  const auto matched = match_random_rate(relay, make, problems(3), 1, kNever, [](double) {});
  ASSERT_TRUE(matched);
  EXPECT_NEAR(matched->rate, 0.25, 0.02);
  EXPECT_FALSE(match_random_rate(relay, make, problems(1), 1, kNever, [](double) {}));
}

TEST(Runner, CancellingKeepsWhatIsDoneAndRecordsNoError) {
  auto store = Store::in_memory();
  std::atomic<bool> cancel{false};
  auto competitors = one("a", [&](const StoredProblem& p) {
    if (p.problem.id != "p2") return good();
    cancel = true;
    return bad(ErrorKind::cancelled);
  });
  const auto result = write_missing(*store, problems(5), competitors, options(cancel));
  ASSERT_TRUE(result);
  EXPECT_FALSE(*result);
  EXPECT_EQ(store->done()->size(), 2u);
  EXPECT_FALSE(*store->find({"a", "p2", 0}));
}

TEST(Runner, TellsHowFarItIs) {
  auto store = Store::in_memory();
  std::vector<Progress> told;
  auto with = options();
  with.progress = [&](const Progress& one) { told.push_back(one); };
  auto competitors = one("a", [](const auto&) { return good(); });
  ASSERT_TRUE(*write_missing(*store, problems(3), competitors, with));
  ASSERT_EQ(told.size(), 4u);
  EXPECT_LT(told[0].seconds_left, 0);  // nothing is known yet
  EXPECT_GE(told[1].seconds_left, 0);
  EXPECT_EQ(told[3].done, 3u);
  EXPECT_EQ(told[3].all, 3u);
}

TEST(MatchRandomRate, FindsTheRateWithTheSameShare) {
  const auto writer_of_share = [](double share) {
    return std::make_unique<ScriptedWriter>(
        [share](const auto&) {
          Written written = good();
          written.output->tokens.generated = 100'000;
          written.output->tokens.authors = TokenCounts::Authors{.small = static_cast<std::uint64_t>(100'000 * share)};
          return written;
        },
        nullptr);
  };
  const auto relay = writer_of_share(0.2);
  const auto matched = match_random_rate(
      *relay, [&](double rate) { return writer_of_share(rate / 2); }, problems(2), 1, kNever, [](double) {});
  ASSERT_TRUE(matched);
  EXPECT_NEAR(matched->rate, 0.4, 0.02);
  EXPECT_NEAR(matched->share, matched->wanted_share, 0.01);
}

}  // namespace
}  // namespace relaygen::eval
