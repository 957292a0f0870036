#include "eval/summary.h"

#include <gtest/gtest.h>

namespace relaygen::eval {
namespace {

// Three problems whose answer is 42, and rows that are filled in by each test.
class SummaryOf : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(store_.settle("dataset", {{"name", "small"}}));
    ASSERT_TRUE(store_.settle("generation", {{"temperature", 0}}));
    for (const char* name : {"large-only", "relay"}) ASSERT_TRUE(store_.settle_policy({name, OrderedJson::object()}));
    std::vector<StoredProblem> problems;
    for (const char* id : {"a", "b", "c"}) problems.push_back({{.id = id, .question = "q", .expected = "42"}, "q"});
    ASSERT_TRUE(store_.add_problems(problems, std::vector<std::size_t>{0, 1, 2}));
  }

  void put(const std::string& policy, const std::string& problem, const std::string& answer, double seconds = 1,
           std::uint32_t sample = 0, FinishReason finish = FinishReason::stop) {
    Output output{.text = "so " + answer, .answer = answer, .finish = finish};
    output.tokens = {.prompt = 1, .generated = 10, .phases = TokenCounts::Phases{.thinking = 6, .answer = 4}};
    output.tokens.authors = TokenCounts::Authors{.large = 8, .small = 2, .handoffs = 3};
    output.time = {.total = seconds, .parts = TimeSpent::Parts{.large_decode = seconds / 2}};
    output.segments = {{"large", 0, 3}, {"small", 3, output.text.size()}};
    ASSERT_TRUE(store_.put({policy, problem, sample}, output, "", "", 1));
  }
  void put_right(const std::string& policy, const std::string& problem, double seconds = 1, std::uint32_t sample = 0) {
    put(policy, problem, "\\boxed{42}", seconds, sample);
  }
  [[nodiscard]] Summary summarised(const SummaryOptions& options = {}) const {
    auto summary = summarise(store_, options);
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? *summary : Summary{};
  }

  Store store_ = *Store::in_memory();
};

TEST_F(SummaryOf, CountsVerdictsTokensAndTime) {
  put_right("large-only", "a", 2);
  put("large-only", "b", "\\boxed{41}", 3);
  put("large-only", "c", "\\boxed{42}", 4, 0, FinishReason::length);
  const auto policy = summarised().policies[0];
  EXPECT_EQ(policy.outputs, 3u);
  EXPECT_EQ(policy.missing, 0u);
  EXPECT_EQ(policy.verdicts[static_cast<std::size_t>(Verdict::right)], 1u);
  EXPECT_EQ(policy.verdicts[static_cast<std::size_t>(Verdict::wrong)], 1u);
  EXPECT_EQ(policy.verdicts[static_cast<std::size_t>(Verdict::unfinished)], 1u);
  EXPECT_EQ(policy.truncated, 1u);
  EXPECT_EQ(policy.seconds, 9);
  EXPECT_EQ(policy.tokens_mean, 10);
  EXPECT_EQ(policy.thinking_mean, 6);
  EXPECT_EQ(policy.utilisation, 0.8);
  EXPECT_EQ(policy.handoffs, 3);
  EXPECT_EQ(policy.time->large_decode, 4.5);
  EXPECT_NEAR(policy.accuracy->value, 1.0 / 3, 1e-9);
}

TEST_F(SummaryOf, ComparesOnlyWhatBothHaveComplete) {
  for (const char* id : {"a", "b"}) put_right("large-only", id, 2);
  put_right("relay", "a", 1);
  put_right("relay", "c", 100);
  const auto summary = summarised();
  const auto& relay = summary.policies[1];
  EXPECT_EQ(summary.baseline, "large-only");
  EXPECT_EQ(relay.compared, 1u);
  EXPECT_EQ(relay.missing, 1u);
  EXPECT_EQ(relay.speed_up->value, 2);
  EXPECT_EQ(relay.difference->value, 0);
  EXPECT_EQ(summary.absent(), 2u);
  EXPECT_FALSE(summary.policies[0].difference);
  ASSERT_EQ(summary.notes.size(), 2u);
  EXPECT_NE(summary.notes[1].find("relay: 2 of 3 outputs are there; the comparison is over 1 question"),
            std::string::npos)
      << summary.notes[1];
}

TEST_F(SummaryOf, ErrorsAreNotScored) {
  put_right("large-only", "a");
  ASSERT_TRUE(store_.put_error({"large-only", "b", 0}, "no room", "", 1));
  const auto policy = summarised().policies[0];
  EXPECT_EQ(policy.errors, 1u);
  EXPECT_EQ(policy.missing, 1u);
  EXPECT_EQ(policy.accuracy->value, 1);
  EXPECT_EQ(policy.first_error, "no room");
}

TEST_F(SummaryOf, AQuestionCountsOnceItHasAllSamples) {
  for (std::uint32_t sample : {0u, 1u}) put_right("large-only", "a", 1, sample);
  put_right("large-only", "b");
  const auto policy = summarised({.samples = 2}).policies[0];
  EXPECT_EQ(policy.outputs, 3u);
  EXPECT_EQ(policy.complete, 1u);
  EXPECT_EQ(policy.missing, 3u);
  const auto first = summarised({.samples = 1}).policies[0];  // the first samples alone
  EXPECT_EQ(first.outputs, 2u);
}

TEST_F(SummaryOf, ChoosesPoliciesProblemsAndBaseline) {
  put_right("large-only", "a");
  put_right("relay", "a");
  EXPECT_EQ(summarised({.policies = {"relay"}}).baseline, "relay");
  EXPECT_EQ(summarised({.baseline = "relay"}).policies[0].compared, 1u);
  EXPECT_EQ(summarised({.problems = {"a"}}).absent(), 0u);
  EXPECT_FALSE(summarise(store_, {.baseline = "none"}));
  EXPECT_FALSE(summarise(store_, {.policies = {"none"}}));
}

TEST_F(SummaryOf, DisagreementsHoldBothTexts) {
  put_right("large-only", "a");
  put_right("relay", "a");
  put_right("large-only", "b");
  put("relay", "b", "\\boxed{41}");
  const auto json = summary_to_json(summarised(), {.program = "relaygen 1", .command = "relaygen eval"});
  ASSERT_EQ(json["disagreements"].size(), 1u);
  const auto& one = json["disagreements"][0];
  EXPECT_EQ(one["problem"], "b");
  EXPECT_EQ(one["outputs"][1]["policy"], "relay");
  EXPECT_EQ(one["outputs"][1]["verdict"], "wrong");
  EXPECT_EQ(one["outputs"][1]["segments"][1]["text"], "\\boxed{41}");
  EXPECT_EQ(json["command"], "relaygen eval");
  EXPECT_EQ(json["policies"][1]["verdict"]["kind"], "undecided");
  EXPECT_EQ(json["policies"][1]["mcnemar"]["only_baseline"], 1);
}

TEST_F(SummaryOf, NothingAtAllIsFine) {
  const auto json = summary_to_json(summarised(), {});
  EXPECT_TRUE(json["policies"][0]["accuracy"].is_null());
  EXPECT_EQ(json["policies"][0]["missing"], 3);
  EXPECT_EQ(json["policies"][0]["truncated"], 0.0);
  const auto empty = Store::in_memory();
  EXPECT_TRUE(summary_to_json(*summarise(*empty, {}), {})["policies"].empty());
}

}  // namespace
}  // namespace relaygen::eval
