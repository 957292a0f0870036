// The program as a user meets it: arguments in, text, messages and exit codes out.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "support/program.h"

namespace relaygen::testing {
namespace {

using Json = nlohmann::json;
const std::string kSource = RELAYGEN_SOURCE_DIR;
const std::string kProblem = "'What is 12 + 30?'";

ProcessResult relaygen(const std::string& arguments, const std::string& before = "") {
  return run_shell(before + RELAYGEN_BINARY + " " + arguments);
}

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content, const std::string& suffix = "") {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("relaygen-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + suffix))
                .string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// One clear sentence: one line, the program's name, what to do.
TEST(CommandLine, RunWithoutArgumentsSolvesABundledProblem) {
  const auto result = relaygen("run --temp 0 < /dev/null");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.output.find("\\boxed{226}"), std::string::npos) << result.output;
  EXPECT_NE(result.error.find("Zoe earns 37 dollars"), std::string::npos);
  EXPECT_NE(result.error.find("handoffs"), std::string::npos);
}

TEST(CommandLine, JsonTellsTextSegmentsAndUsage) {
  const auto result = relaygen("run --temp 0 --json " + kProblem);
  ASSERT_EQ(result.code, 0) << result.error;
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["finish"], "stop");
  EXPECT_NE(json["answer"].get<std::string>().find("\\boxed{42}"), std::string::npos);
  EXPECT_EQ(json["thinking"].get<std::string>().find("<think>"), std::string::npos);
  const std::string text = json["text"];
  std::size_t end = 0;
  std::uint64_t small = 0;
  for (const Json& segment : json["segments"]) {
    EXPECT_EQ(segment["begin"], end);
    end = segment["end"];
    if (segment["author"] == "small") small += segment["tokens"].get<std::uint64_t>();
  }
  EXPECT_EQ(end, text.size());
  EXPECT_EQ(json["usage"]["small_tokens"], small);
  EXPECT_GT(small, 0u);
  EXPECT_EQ(json["usage"]["thinking_tokens"].get<int>() + json["usage"]["answer_tokens"].get<int>(),
            json["usage"]["completion_tokens"].get<int>());
}

TEST(CommandLine, TheSameSeedGivesTheSameText) {
  const auto text = [](const std::string& flags) {
    return Json::parse(relaygen("run --json --temp 1.5 --top-k 0 --top-p 1 " + flags + " " + kProblem).output)["text"]
        .get<std::string>();
  };
  EXPECT_EQ(text("--seed 7"), text("-s 7"));
  EXPECT_NE(text("--seed 7"), text("--seed 8"));
}

TEST(CommandLine, ThePromptComesFromArgumentFileOrStandardInput) {
  const TemporaryFile file("What is 12 + 30?\n");
  const auto text = [](const ProcessResult& result) { return Json::parse(result.output)["text"].get<std::string>(); };
  const auto expected = text(relaygen("run --temp 0 --json " + kProblem));
  EXPECT_EQ(text(relaygen("run --temp 0 --json -f " + file.path())), expected);
  EXPECT_EQ(text(relaygen("run --temp 0 --json < " + file.path())), expected);
  EXPECT_EQ(text(relaygen("run --temp 0 --json -f - < " + file.path())), expected);
}

TEST(CommandLine, ColoursFollowTheFlagAndNoColor) {
  EXPECT_EQ(relaygen("run --temp 0 -q " + kProblem).output.find('\x1b'), std::string::npos);  // no terminal
  EXPECT_NE(relaygen("run --temp 0 -q --color always " + kProblem).output.find("\x1b[38;5;215m"), std::string::npos);
  EXPECT_EQ(relaygen("run --temp 0 -q --color never " + kProblem).output.find('\x1b'), std::string::npos);
  EXPECT_EQ(run_in_terminal("NO_COLOR=1 " RELAYGEN_BINARY " run --temp 0 -q " + kProblem).output.find('\x1b'),
            std::string::npos);
  EXPECT_NE(run_in_terminal(RELAYGEN_BINARY " run --temp 0 -q " + kProblem).output.find("\x1b[38;5;75m"),
            std::string::npos);
}

TEST(CommandLine, TheTraceHoldsEveryEvent) {
  const TemporaryFile trace("");
  const auto result = relaygen("run --temp 0 --json --trace " + trace.path() + " " + kProblem);
  ASSERT_EQ(result.code, 0) << result.error;
  const Json whole = Json::parse(result.output);
  std::istringstream lines(read(trace.path()));
  std::string text, first, last, line;
  while (std::getline(lines, line)) {
    const Json event = Json::parse(line);
    if (first.empty()) first = event["type"];
    last = event["type"];
    if (event["type"] == "token" && event["committed"]) text += event["text"];
  }
  EXPECT_EQ(first, "start");
  EXPECT_EQ(last, "end");
  EXPECT_EQ(text, whole["text"]);
}

TEST(CommandLine, AFullDiskForTheTraceCostsTheTraceOnly) {
  const auto result = relaygen("run --temp 0 -q --trace /dev/full " + kProblem);
  EXPECT_NE(result.output.find("\\boxed{42}"), std::string::npos);
  expect_sentence(result, 9, "/dev/full is incomplete");
}

TEST(CommandLine, CompareGivesBothTextsAndARatio) {
  const auto result = relaygen("run --temp 0 --compare " + kProblem);
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.output.find("--- large-only ---"), std::string::npos);
  EXPECT_NE(result.output.find("--- relay+draft ---"), std::string::npos);
  EXPECT_TRUE(std::regex_search(result.error, std::regex("[0-9.]+x by time"))) << result.error;
  EXPECT_NE(result.error.find("too small to tell what larger models gain"), std::string::npos);
  const Json json = Json::parse(relaygen("run --temp 0 --compare --json " + kProblem).output);
  EXPECT_EQ(json["large_only"]["usage"]["small_tokens"], 0);
  EXPECT_GT(json["relay+draft"]["usage"]["small_tokens"], 0);
  EXPECT_GT(json["speed_up_total"], 0.0);
}

TEST(CommandLine, EveryPolicyRuns) {
  for (const std::string policy :
       {"large-only", "small-only", "relay", "random", "all-candidates", "rejected-only", "answer-only"}) {
    const auto result = relaygen("run --temp 0 --json --policy " + policy + " " + kProblem);
    EXPECT_EQ(result.code, 0) << policy << result.error;
    const Json usage = Json::parse(result.output)["usage"];
    EXPECT_EQ(usage["large_tokens"] == 0, policy == "small-only");
    EXPECT_EQ(usage["small_tokens"] == 0, policy == "large-only");
  }
}

TEST(CommandLine, LlamaCppFlagsAreUnderstood) {
  const std::string pair = "-m " + kSource + "/models/demo/relaygen-demo-large.gguf ";
  const std::string small = kSource + "/models/demo/relaygen-demo-small.gguf ";
  const std::string rest =
      "-ngl 0 -ngls 0 -t 1 -tb 1 -c 256 -b 128 -ub 64 -fa on -ctk q8_0 -ctv q8_0 --temp 0 --top-k 40 --top-p 0.9 "
      "--min-p 0.05 --repeat-penalty 1.0 -n 200 --profile " +
      kSource + "/profiles/demo.json --json " + kProblem;
  for (const std::string flag : {"-ms ", "-md ", "--model-draft "}) {
    const auto result = relaygen("run " + pair + flag + small + rest);
    EXPECT_EQ(result.code, 0) << result.error;
  }
}

TEST(CommandLine, CheckMeasuresBatchesAndSaysWhatCanBeGained) {
  const auto result = relaygen("check --json");
  ASSERT_EQ(result.code, 0) << result.error;
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["batches"]["large"][0]["rows"], 1);
  EXPECT_GT(json["batches"]["large"][0]["seconds"], 0.0);
  EXPECT_GT(json["memory"]["large"]["weights"], 4'000'000u);
  EXPECT_EQ(json["thinking_tags"]["begin"], "<think>");
  const auto text = relaygen("check");
  EXPECT_TRUE(text.output.find("will not gain") != std::string::npos ||
              text.output.find("At most") != std::string::npos)
      << text.output;
}

TEST(CommandLine, ChatRemembersTheConversation) {
  const auto result = relaygen("chat --temp 0 -q",
                               "printf 'What is 12 + 30?\\n\\nWhat is 145 + 30?\\n/nonsense\\n/clear\\n/exit\\n' | ");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_NE(result.output.find("\\boxed{42}"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\\boxed{175}"), std::string::npos) << result.output;
  EXPECT_NE(result.error.find("no command /nonsense"), std::string::npos);
}

TEST(CommandLine, ASignalStopsTheTextCleanly) {
  const TemporaryFile trace("");
  const TemporaryFile output("");
  // Rewarded for repeating itself the model never comes to an end; the signal comes after the first words.
  const std::string wait = "while kill -0 $! && [ $(wc -l < " + trace.path() + ") -le 5 ]; do sleep 0.05; done; ";
  const auto result =
      run_shell(RELAYGEN_BINARY " run --temp 0 --repeat-penalty 0.3 -c 60000 --json --trace " + trace.path() + " " +
                kProblem + " > " + output.path() + " & " + wait + "kill -INT $!; wait $!");
  EXPECT_EQ(result.code, 130) << result.error;
  const Json json = Json::parse(read(output.path()));
  EXPECT_EQ(json["finish"], "cancelled");
  EXPECT_FALSE(json["text"].get<std::string>().empty());
}

// ---------------------------------------------------------------- bad input

TEST(BadInput, PromptsThatCannotBeUsed) {
  const TemporaryFile not_utf8("caf\xE9");
  const TemporaryFile empty("\n");
  std::string lengthy(4000, 'x');
  for (std::size_t i = 0; i < lengthy.size(); i += 2) lengthy[i] = ' ';
  const TemporaryFile too_long(lengthy);
  expect_sentence(relaygen("run ' '"), 6, "no prompt");
  expect_sentence(relaygen("run -f " + empty.path()), 6, "is empty");
  expect_sentence(relaygen("run < " + empty.path()), 6, "standard input is empty");
  expect_sentence(relaygen("run -f " + not_utf8.path()), 6, "not UTF-8: byte 4 is 0xe9");
  expect_sentence(relaygen("run -f " + too_long.path()), 6, "window");
  expect_sentence(relaygen("run -f /no/such/file"), 6, "/no/such/file");
  expect_sentence(relaygen("run -f /tmp"), 6, "folder");
  expect_sentence(relaygen("run hello -f " + empty.path()), 2, "both");
}

TEST(BadInput, ModelsThatCannotBeUsed) {
  const std::string small = " -ms " + kSource + "/models/demo/relaygen-demo-small.gguf --policy large-only hi";
  const std::string whole = read(kSource + "/models/demo/relaygen-demo-large.gguf");
  const TemporaryFile text("This is no model.", ".gguf");
  const TemporaryFile nothing("", ".gguf");
  const TemporaryFile truncated(std::string_view(whole).substr(0, whole.size() / 2), ".gguf");
  const TemporaryFile header(std::string_view(whole).substr(0, 100), ".gguf");
  std::string strange = whole;
  for (std::size_t at = strange.find("qwen3"); at != std::string::npos && at < 100'000;
       at = strange.find("qwen3", at + 1))
    strange.replace(at, 5, "qwex9");
  const TemporaryFile unsupported(strange, ".gguf");
  expect_sentence(relaygen("run -m /no/such.gguf" + small), 3, "/no/such.gguf");
  expect_sentence(relaygen("run -m /tmp" + small), 3, "folder");
  expect_sentence(relaygen("run -m " + text.path() + small), 3, "GGUF");
  expect_sentence(relaygen("run -m " + nothing.path() + small), 3, "empty");
  expect_sentence(relaygen("run -m " + truncated.path() + small), 3, "cut short");
  expect_sentence(relaygen("run -m " + header.path() + small), 3, "cut short");
  expect_sentence(relaygen("run -m " + unsupported.path() + small), 3, "qwex9");
  expect_sentence(relaygen("run -m " + text.path() + " hi"), 2, "small one is missing");
}

TEST(BadInput, ProfilesThatCannotBeUsed) {
  const TemporaryFile broken("{\"relaygen_profile\": 1, \"cues\": [");
  const TemporaryFile other("{\"a\": 1}");
  expect_sentence(relaygen("run --profile /no/profile.json hi"), 5, "/no/profile.json");
  expect_sentence(relaygen("run --profile " + broken.path() + " hi"), 5, "JSON");
  expect_sentence(relaygen("run --profile " + other.path() + " hi"), 5, "no profile");
}

TEST(BadInput, AProfileOfAnotherPairIsWarnedAbout) {
  const auto result = relaygen("run -q --temp 0 --profile " + kSource + "/profiles/qwen3-32b-1.7b.json " + kProblem);
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.error.find("warning: the profile was made for Qwen3-32B"), std::string::npos) << result.error;
}

TEST(BadInput, FlagsThatMakeNoSense) {
  EXPECT_EQ(relaygen("").code, 2);
  expect_sentence(relaygen("fly"), 2, "fly");
  expect_sentence(relaygen("run --policy turbo hi"), 2, "turbo");
  expect_sentence(relaygen("run --temp hot hi"), 2, "--temp");
  expect_sentence(relaygen("run --top-p 7 hi"), 2, "top-p is 7");
  expect_sentence(relaygen("run -ctk q1_9 hi"), 2, "q1_9");
  expect_sentence(relaygen("segment --profile x --cues y"), 2, "both");
}

TEST(BadInput, APairThatDoesNotFitIntoMemoryIsRefused) { expect_sentence(relaygen("run -c 16000000 hi"), 7, "free"); }

// ---------------------------------------------------------------- segment

TEST(Segment, ShowsHandoffsInPlainTextAndJson) {
  const TemporaryFile text("We know it. So, the sum is 3.5 exactly. Now we stop.\n</think>\nThe sum is 3.5.");
  const auto shown = relaygen("segment --min-large-tokens 0 --cues 'So,|Thus,' " + text.path());
  EXPECT_EQ(shown.code, 0) << shown.error;
  EXPECT_EQ(shown.output, "We know it. So,[[ the sum is 3.5 exactly.]] Now we stop.\n</think>[[\nThe sum is 3.5.]]\n");
  const Json json =
      Json::parse(relaygen("segment --min-large-tokens 0 --json --cues 'So,|Thus,' " + text.path()).output);
  EXPECT_EQ(json["handoffs"], 2);  // one at the cue, one at the answer
  EXPECT_EQ(json["segments"][1]["cue"], "So,");
  EXPECT_EQ(json["segments"][1]["author"], "small");
  EXPECT_EQ(json["segments"][1]["why"], "sentence_end");
  EXPECT_EQ(json["share"]["answer"], 1.0);
}

TEST(Segment, PublishedModeBehavesAsTheReferenceCode) {
  const TemporaryFile text("We know it. Now 3.5 is it.");
  EXPECT_EQ(relaygen("segment --published --cues 'now' " + text.path()).output, "We know[[ it.]] Now 3.5 is it.\n");
}

TEST(Segment, ReadsJsonLinesFromStandardInput) {
  const auto result = relaygen("segment --json --cues 'So,'",
                               "printf '{\"id\":\"a\",\"text\":\"x\"}\\n{\"id\":\"b\",\"text\":\"y\"}\\n' | ");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 2);
}

// ---------------------------------------------------------------- grade

TEST(Grade, ComparesAnswersAndGradesTexts) {
  const TemporaryFile file(
      "{\"given\": \"0.5\", \"expected\": \"\\\\frac{1}{2}\"}\n\n"
      "{\"response\": \"<think>\\\\boxed{1}</think> It is \\\\boxed{2}.\", \"expected\": 2}\n"
      "{\"response\": \"<think>So\", \"expected\": 2}\n"
      "{\"response\": \"The answer is (C).\", \"expected\": \"B\", \"kind\": \"choice\", \"options\": 4}\n");
  const auto result = relaygen("grade " + file.path());
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_EQ(result.output,
            "{\"same\":true}\n{\"verdict\":\"right\",\"answer\":\"2\"}\n{\"verdict\":\"unfinished\",\"answer\":\"\"}\n"
            "{\"verdict\":\"wrong\",\"answer\":\"C\"}\n");
  EXPECT_NE(result.error.find("1 of 3 texts are right"), std::string::npos) << result.error;
}

TEST(Grade, ABadLineIsNamed) {
  const TemporaryFile broken("{\"given\": \"1\", \"expected\": \"1\"}\n{oops}\n");
  expect_sentence(relaygen("grade " + broken.path()), 6, "line 2: no valid JSON object");
  const TemporaryFile incomplete("{\"given\": \"1\"}\n");
  expect_sentence(relaygen("grade " + incomplete.path()), 6, "line 1: no \"expected\"");
  expect_sentence(relaygen("grade < /dev/null"), 6, "holds no answers");
}

}  // namespace
}  // namespace relaygen::testing
