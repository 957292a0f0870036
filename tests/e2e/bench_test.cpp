// relaygen plan and bench as a user meets them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"

namespace relaygen::testing {
namespace {

using Json = nlohmann::json;

// A trace with two cues of the bundled pair's profile in its thinking.
constexpr const char* kTrace =
    R"({"id": "t", "text": "<think>\nMia has 45 boxes with 13 pens in each box. First, I find how many pens there are. 45 * 13 = 585. So, there are 585 pens. Then I take away 123. 585 - 123 = 462. So, there are 462 pens left.\n</think>\n\nMia has 462 pens left.\n\n\\boxed{462}"})";

class Bench : public InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    write("trace.jsonl", std::string(kTrace) + "\n");
  }
  [[nodiscard]] static ProcessResult relaygen(const std::string& arguments) {
    return run_shell(std::string(RELAYGEN_BINARY) + " " + arguments);
  }
  [[nodiscard]] static Json json(const std::string& arguments) {
    const auto result = run_shell(std::string(RELAYGEN_BINARY) + " " + arguments + " --json");
    EXPECT_EQ(result.code, 0) << result.error;
    return Json::parse(result.output, nullptr, false);
  }
};

Json row(const Json& report, const std::string& policy) {
  for (const auto& one : report["rows"]) {
    if (one["policy"] == policy) return one;
  }
  ADD_FAILURE() << "no row " << policy;
  return {};
}

TEST_F(Bench, ReplaysATraceUnderEveryPolicy) {
  const Json report = json("bench --trace " + path("trace.jsonl") +
                           " --policies large,relay,random,answer-only,all-candidates,small --windows 1 --tokens 400 "
                           "--depth 16 -r 2");
  ASSERT_EQ(report["rows"].size(), 6U);
  const auto tokens = row(report, "large-only")["tokens"];
  for (const auto& one : report["rows"]) {
    EXPECT_EQ(one["tokens"], tokens) << one["policy"];  // all write the same text
    EXPECT_GT(one["ideal_seconds"].get<double>(), 0);
    std::uint64_t in_segments = 0;
    for (const auto& segment : one["segments"][0]) in_segments += segment[1].get<std::uint64_t>();
    EXPECT_EQ(in_segments, tokens.get<std::uint64_t>());
  }
  EXPECT_EQ(row(report, "relay")["handoffs"], 3);
  EXPECT_EQ(row(report, "answer-only")["handoffs"], 1);
  EXPECT_EQ(row(report, "small-only")["small_share"], 1.0);
  EXPECT_EQ(row(report, "large-only")["small_share"], 0.0);
}

TEST_F(Bench, SeveralDepthsAreMeasuredInOneRun) {
  const Json report = json("bench --trace " + path("trace.jsonl") + " --windows 1 --tokens 20 --depth 16,200 -r 1");
  EXPECT_EQ(report["depths"], Json::parse("[16, 200]"));
  ASSERT_EQ(report["rows"].size(), 4U);
  EXPECT_EQ(report["rows"][0]["depth"], 16);
  EXPECT_EQ(report["rows"][3]["depth"], 200);
}

TEST_F(Bench, LiveTextsComeFromTheBundledProblems) {
  const Json report = json("bench --policies large,relay --first 2 -r 1 --temp 0 --explain");
  EXPECT_EQ(report["workload"]["kind"], "live");
  const Json relay = row(report, "relay");
  for (const auto& part : relay["parts"]) {
    if (part["part"] == "other" || part["batches"] == 0) continue;
    EXPECT_GT(part["ideal"].get<double>(), 0) << part["part"];
  }
}

TEST_F(Bench, ShowsTablesAndWritesAReport) {
  const auto result = relaygen("bench --first 1 -r 1 --explain --report " + path("report.html"));
  EXPECT_EQ(result.code, 0) << result.error;
  for (const char* part : {"ms a token", "large-only", "relay", "predicted", "catch-up"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part;
  std::ostringstream html;
  html << std::ifstream(path("report.html")).rdbuf();
  EXPECT_NE(html.str().find("\"kind\":\"bench\""), std::string::npos);
}

TEST_F(Bench, BadInputGetsASentence) {
  expect_sentence(relaygen("bench --trace " + path("missing.jsonl")), 6, "missing.jsonl");
  std::ofstream(path("bad.jsonl")) << "{\"id\": 1}\n";
  expect_sentence(relaygen("bench --trace " + path("bad.jsonl")), 6, "line 1");
  std::ofstream(path("empty.jsonl")) << "";
  expect_sentence(relaygen("bench --trace " + path("empty.jsonl")), 6, "no text to replay");
  expect_sentence(relaygen("bench --policies fastest"), 2, "fastest");
  for (const char* flag : {"-r 0", "-r -1", "--windows -1", "--tokens 0", "--depth 3000000000", "--first 0"})
    expect_sentence(relaygen(std::string("bench ") + flag), 2, "Value");
  expect_sentence(relaygen("plan --first -1"), 2, "Value");
  expect_sentence(relaygen("bench --trace a --prompts b"), 2, "both");
  expect_sentence(relaygen("bench --json --csv"), 2, "exclude");
  expect_sentence(relaygen("bench --trace " + path("trace.jsonl") + " -c 64"), 6, "give a larger -c");
  const std::string demo = RELAYGEN_SOURCE_DIR "/models/demo/relaygen-demo-";
  expect_sentence(relaygen("bench -m " + demo + "large.gguf -ms " + demo + "small.gguf --policies large"), 2,
                  "--trace");
}

TEST_F(Bench, PlanPricesPoliciesOnATrace) {
  const Json plan = json("plan --trace " + path("trace.jsonl") + " --depth 16");
  ASSERT_EQ(plan["plan"].size(), 5U);
  EXPECT_EQ(plan["plan"][0]["policy"], "large-only");
  EXPECT_EQ(plan["plan"][0]["speed_up"], 1.0);
  EXPECT_EQ(plan["plan"][1]["handoffs"], 3);
  for (const auto& one : plan["plan"]) {
    EXPECT_EQ(one["tokens"], plan["plan"][0]["tokens"]);
    double sum = 0;
    for (const auto& part : one["parts"]) sum += part["seconds"].get<double>();
    EXPECT_NEAR(sum, one["seconds"].get<double>(), 1e-9);
  }
}

TEST_F(Bench, PlanWithoutATraceComputesShares) {
  const auto result = relaygen("plan --depth 16");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.output.find("30% of the tokens by the small model"), std::string::npos) << result.output;
  EXPECT_EQ(json("plan --depth 16")["shares"].size(), 5U);
}

TEST_F(Bench, RunExplainsItsTime) {
  const auto result = relaygen("run --temp 0 --explain < /dev/null");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.error.find("predicted"), std::string::npos) << result.error;
  const Json explained = json("run --temp 0 --explain");
  ASSERT_EQ(explained["explain"].size(), 6U);
  EXPECT_EQ(explained["explain"][1]["batches"], explained["timing"]["large_decodes"]);
}

}  // namespace
}  // namespace relaygen::testing
