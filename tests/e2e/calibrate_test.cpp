// relaygen calibrate and profile as a user meets them, on the bundled pair.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <random>

#include "calibrate/store.h"
#include "relaygen/profile.h"
#include "support/program.h"

namespace relaygen::testing {
namespace {

using Json = nlohmann::json;

constexpr const char* kProblems = RELAYGEN_SOURCE_DIR "/models/demo/problems.calibration.jsonl";
// Few problems, so that a test takes seconds.
constexpr const char* kSmall = " --first 24 -k 1 --min-count 5 --min-problems 4 --proof 4 -q ";

class Calibrate : public InFolder {
 protected:
  [[nodiscard]] static ProcessResult run(const std::string& arguments, const std::string& before = "") {
    return run_shell(before + RELAYGEN_BINARY + " calibrate " + arguments);
  }
  [[nodiscard]] static ProcessResult profile(const std::string& arguments) {
    return run_shell(std::string(RELAYGEN_BINARY) + " profile " + arguments);
  }
  // Some of its reference solutions as traces: no sampling, no proof.
  [[nodiscard]] std::string imported(const std::string& more, int problems = 40) const {
    std::string rows, row;
    std::ifstream file(kProblems);
    for (int i = 0; i < problems && std::getline(file, row); ++i) rows += row + "\n";
    return "--traces " + write("solutions.jsonl", rows) +
           " --proof 0 --rule published --min-count 5 --min-problems 4 --false-rate 1 -q " + more;
  }
};

TEST_F(Calibrate, WritesAProfileThatTheRelayUses) {
  const auto result = run(kSmall + ("-o " + path("pair.json") + " --report " + path("r.html")));
  ASSERT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.output, "24 problems, 24 traces")) << result.output;
  EXPECT_TRUE(holds(result.output, "The profile is in " + path("pair.json"))) << result.output;
  EXPECT_TRUE(holds(read(path("r.html")), "\"kind\":\"calibrate\""));
  const auto made = read_profile(path("pair.json"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->large.name, "relaygen-demo-large");
  EXPECT_FALSE(made->large.vocabulary.empty());
  EXPECT_EQ(made->evidence.size(), made->cues.size());
  ASSERT_TRUE(made->calibration);
  EXPECT_EQ(made->calibration->problem_hashes.size(), 24U);
  const auto used =
      run_shell(std::string(RELAYGEN_BINARY) + " run --temp 0 --profile " + path("pair.json") + " < /dev/null");
  EXPECT_EQ(used.code, 0) << used.error;
  EXPECT_TRUE(holds(used.output, "226")) << used.output;
}

TEST_F(Calibrate, KnowsTheSafeFromTheUnsafe) {
  const auto result =
      run("--first 50 -k 1 --proof 12 --min-count 12 --min-problems 8 -q --json -o " + path("pair.json"));
  ASSERT_EQ(result.code, 0) << result.error;
  std::map<std::string, Json> cues;
  const Json json = Json::parse(result.output);
  for (const auto& one : json["cues"]) cues[one["text"]] = one;
  // "Then" opens calculations: the paper's score does not see it, what the small model does there changes answers.
  EXPECT_GT(cues["Then"]["published_score"]["value"], 0);
  EXPECT_EQ(cues["Then"]["decision"], "harmful");
  EXPECT_GT(cues["Then"]["proof"]["flips"], 2);
  // "Therefore," has two equally good continuations: a low margin, and no harm.
  EXPECT_EQ(cues["Therefore,"]["decision"], "selected");
  EXPECT_EQ(cues["Therefore,"]["safe"]["value"], 1);
  EXPECT_LT(cues["Therefore,"]["published_score"]["value"], cues["So,"]["published_score"]["value"].get<double>() / 2);
  EXPECT_EQ(json["answers"]["same"], json["answers"]["compared"]);
}

TEST_F(Calibrate, FindsThePublishedScoresOfTheReferenceSolutions) {
  const auto result = run(imported("--no-discovery --json -o " + path("pair.json"), 200));
  ASSERT_EQ(result.code, 0) << result.error;
  const Json json = Json::parse(result.output);
  const std::map<std::string, double> expected{{"So,", 0.112},   {"Thus,", 0.107},  {"Next,", 0.107},
                                               {"Now,", 0.107},  {"Again,", 0.096}, {"Then", 0.030},
                                               {"Wait,", 0.125}, {"Hence,", 0.107}, {"Alternatively,", -0.121}};
  std::size_t found = 0;
  for (const auto& one : json["cues"]) {
    const auto known = expected.find(one["text"]);
    if (known == expected.end()) continue;
    ++found;
    // The figures are over all 200 solutions, these over the 120 that choose.
    EXPECT_NEAR(one["published_score"]["value"].get<double>(), known->second, 0.014) << known->first;
  }
  EXPECT_EQ(found, expected.size());
}

TEST_F(Calibrate, AnIndependentScriptFindsTheSameScores) {
  if (run_shell("python3 -c 'import sqlite3'").code != 0) GTEST_SKIP() << "there is no python3 with sqlite3";
  ASSERT_EQ(run(imported("-o " + path("pair.json"))).code, 0);
  for (const char* more : {"", "--false-rate 0.05", "--max-small-tokens 6"}) {
    const auto scored =
        run("--stage cues --rule published --rules published --min-count 5 --min-problems 4 -q --json --db " +
            path("pair.db ") + more);
    ASSERT_EQ(scored.code, 0) << scored.error;
    write("pair.out.json", scored.output);
    const auto checked = run_shell("python3 " RELAYGEN_SOURCE_DIR "/tools/check_published_scores.py " +
                                   path("pair.db ") + path("pair.out.json"));
    EXPECT_EQ(checked.code, 0) << checked.output << checked.error;
  }
}

// ---------------------------------------------------------------- again, killed, full, shared

TEST_F(Calibrate, TheSameSeedAndTracesGiveTheSameBytes) {
  ASSERT_EQ(run(kSmall + ("-o " + path("pair.json"))).code, 0);
  const auto first = read(path("pair.json"));
  ASSERT_EQ(run("--stage cues --min-count 5 --min-problems 4 -q -o " + path("pair.json")).code, 0);
  EXPECT_EQ(read(path("pair.json")), first);
  ASSERT_EQ(
      run("--stage cues --min-count 5 --min-problems 4 -q -s 5 -o " + path("other.json --db ") + path("pair.db")).code,
      0);
  EXPECT_NE(read(path("other.json")), first);
}

// Several rounds and steps of a proof, so that a kill falls into each.
constexpr const char* kSeveral = " --first 20 -k 2 --min-count 5 --min-problems 4 --proof 8 -q ";

TEST_F(Calibrate, KilledTwentyTimesItMakesTheSameProfile) {
  ASSERT_EQ(run(kSeveral + ("-o " + path("whole/pair.json --db ") + path("whole.db"))).code,
            9);  // there is no such folder
  std::filesystem::create_directories(path("whole"));
  ASSERT_EQ(run(kSeveral + ("-o " + path("whole/pair.json --db ") + path("whole.db"))).code, 0);
  const std::string again = kSeveral + ("-o " + path("pair.json"));
  std::minstd_rand random(11);
  for (int i = 0; i < 20; ++i) run_and_kill("calibrate " + again, std::uniform_int_distribution<int>(20, 600)(random));
  const auto finished = run(again);
  ASSERT_EQ(finished.code, 0) << finished.error;
  EXPECT_EQ(read(path("pair.json")), read(path("whole/pair.json")));
}

TEST_F(Calibrate, OtherSettingsNeedNoModels) {
  ASSERT_EQ(run(imported("-o " + path("pair.json"))).code, 0);
  const auto choose = [&](const std::string& flags) {
    const auto result =
        run("--stage cues --rule published -q --json -m /none -ms /none --db " + path("pair.db ") + flags,
            "RELAYGEN_DATA=" RELAYGEN_SOURCE_DIR " ");
    EXPECT_EQ(result.code, 0) << result.error;
    std::size_t selected = 0;
    const Json json = Json::parse(result.output);
    for (const auto& one : json["cues"]) selected += one["selected"] == true;
    return selected;
  };
  const auto all = choose("--min-count 5 --min-problems 4 --false-rate 1");
  EXPECT_GT(all, choose("--min-count 20 --min-problems 4 --false-rate 1"));
  EXPECT_GT(all, choose("--min-count 5 --min-problems 4 --false-rate 1 --target-share 0.1"));
  EXPECT_LE(choose("--min-count 5 --min-problems 4 --false-rate 0.01"), all);
}

TEST_F(Calibrate, AFullDiskKeepsWhatWasStored) {
  const std::string flags = imported("-o " + path("pair.json"));
  const auto full = run(flags, "ulimit -f 200; ");  // blocks of 512 bytes
  expect_sentence(full, 9, "pair.db cannot");
  EXPECT_EQ(run(flags).code, 0);
}

TEST_F(Calibrate, OneWriterAtATime) {
  const std::string flags = imported("-o " + path("pair.json"));
  ASSERT_EQ(run(flags).code, 0);
  const auto writer = calibrate::Store::open(path("pair.db"));
  ASSERT_TRUE(writer);
  expect_sentence(run(flags), 9, "another relaygen is writing to");
  EXPECT_EQ(run("--stage cues --rule published --min-count 10 -q --db " + path("pair.db")).code,
            0);  // looking is allowed
}

TEST_F(Calibrate, OtherSettingsDoNotMixWithStoredTexts) {
  const std::string flags = "--first 8 -k 1 --proof 0 --min-problems 2 -q --stage traces --db " + path("pair.db");
  ASSERT_EQ(run(flags).code, 0);
  expect_sentence(run(flags + " --temp 1"), 2, "was begun with temperature 0.6");
  expect_sentence(run(flags + " -s 4"), 2, "seed");
}

TEST_F(Calibrate, AChangedFileOfTracesIsNotTakenForTheOldOne) {
  std::string rows, row;
  std::ifstream file(kProblems);
  for (int i = 0; i < 12 && std::getline(file, row); ++i) rows += row + "\n";
  const auto flags = [&](const std::string& content) {
    return "--traces " + write("t.jsonl", content) +
           " --rule published --min-count 2 --min-problems 2 --proof 0 -q --db " + path("t.db");
  };
  ASSERT_EQ(run(flags(rows)).code, 0);
  EXPECT_EQ(run(flags(rows)).code, 0);
  Json other = Json::parse(row);
  other["solution"] = "So, it is 7.\n</think>\n7";
  EXPECT_EQ(run(flags(rows + other.dump() + "\n")).code, 0);  // behind the old ones
  expect_sentence(run(flags(other.dump() + "\n" + rows)), 2, "is another text than the one that");
  other["answer"] = "12345";
  expect_sentence(run(flags(rows.substr(0, rows.find(row)) + other.dump() + "\n")), 2, "was begun with the expected");
}

TEST_F(Calibrate, FirstCountsTheProblemsOfTracesToo) {
  const auto result = run(imported("--first 12 -o " + path("p.json")));
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.output, "12 problems, 12 traces")) << result.output;
  EXPECT_FALSE(holds(result.error, "left out")) << result.error;
}

TEST_F(Calibrate, OtherWeightsOfTheSameNameAreOtherModels) {
  const std::string folder = std::string(RELAYGEN_SOURCE_DIR) + "/models/demo/";
  std::string small = read(folder + "relaygen-demo-small.gguf");
  const auto flags = imported("-m " + folder + "relaygen-demo-large.gguf -ms " + path("small.gguf") +
                              " --stage margins --db " + path("p.db"));
  const auto with = [&] {
    write("small.gguf", small);
    return run(flags);
  };
  expect_sentence(with(), 6, "holds no traces yet");
  ASSERT_EQ(run_shell(std::string(RELAYGEN_BINARY) + " calibrate " + flags.substr(0, flags.find("--stage margins")) +
                      "--stage traces --db " + path("p.db"))
                .code,
            0);
  ASSERT_EQ(with().code, 0);
  small.back() = static_cast<char>(small.back() ^ 1);
  expect_sentence(with(), 2, "was begun with small.file");
}

TEST_F(Calibrate, AStageAloneSaysWhatItNeeds) {
  const std::string flags = "--first 8 -k 1 --min-problems 2 -q --db " + path("a.db") + " --stage ";
  for (const char* stage : {"margins", "proof", "answers"})
    expect_sentence(run(flags + stage), 6, "holds no traces yet");
  expect_sentence(run(flags + "cues"), 6, "There are no traces yet");
  ASSERT_EQ(run(flags + "traces").code, 0);
  expect_sentence(run(flags + "proof"), 6, "holds no margins of the large model yet");
  expect_sentence(run(flags + "proof --proof 0"), 2, "leaves the stage proof nothing to do");
  const std::string small = std::string("-ms ") + RELAYGEN_SOURCE_DIR + "/models/demo/relaygen-demo-small.gguf ";
  expect_sentence(run(small + imported("--rule published --stage answers --db " + path("a.db"))), 2,
                  "needs a large model");
  expect_sentence(run("--first 8 --db :memory:"), 6, "gone with this process");
}

TEST_F(Calibrate, ADamagedSettingIsSaid) {
  ASSERT_EQ(run(imported("-o " + path("p.json"))).code, 0);
  const std::string cues = "--stage cues --rule published --min-count 5 --min-problems 4 -q --db " + path("p.db");
  const auto set = [&](const std::string& key, const std::string& value) {
    SQLite::Database database(path("p.db"), SQLite::OPEN_READWRITE);
    SQLite::Statement update(database, "UPDATE settings SET value = ? WHERE key = ?");
    update.bind(1, value);
    update.bind(2, key);
    ASSERT_EQ(update.exec(), 1);
  };
  set("pair", R"({"large": 5, "small": {"name": 7}})");
  EXPECT_EQ(run(cues).code, 0);
  set("tags", R"({"begin": 1, "ends": "x"})");
  expect_sentence(run(cues), 6, "its thinking tags are not whole");
  set("tags", "no JSON");
  expect_sentence(run(cues), 6, "");
}

// ---------------------------------------------------------------- bad input

TEST_F(Calibrate, BadInputGetsASentence) {
  const std::string to = " -q -o " + path("p.json");
  expect_sentence(run("-q"), 2, "no place to keep what is measured");
  expect_sentence(run("-m x.gguf -ms y.gguf" + to), 2, "nothing to calibrate on");
  expect_sentence(run("--problems /none.jsonl" + to), 6, "/none.jsonl");
  expect_sentence(run("--problems " + write("e.jsonl", "") + to), 6, "e.jsonl");
  expect_sentence(run("--traces " + write("b.jsonl", "{\"question\": \"q\", \"text\": \"\\ud800\"}") + to), 6,
                  "b.jsonl, line 1");
  expect_sentence(run("--traces " + write("u.jsonl", "{\"question\": \"q\", \"text\": \"\xff\"}") + to), 6, "u.jsonl");
  expect_sentence(run("--traces " + write("n.jsonl", "{\"question\": \"q\", \"text\": \" \"}") + to), 6,
                  "holds no text of a model");
  expect_sentence(run("--stage cues --db /none.db -q"), 6, "/none.db");
  expect_sentence(run("--candidates " + write("c.json", "[1]") + to), 6, "candidate 1 is no string");
  expect_sentence(run("--candidates " + write("l.json", "[\"\"]") + to), 5, "is empty");
  const auto notes = write("p.db", "These are notes, and nobody wants to lose them.");
  expect_sentence(run("--first 8" + to), 6, "is no database of a calibration");
  EXPECT_EQ(read(notes), "These are notes, and nobody wants to lose them.");
}

TEST_F(Calibrate, TooLittleToSayAnything) {
  expect_sentence(run("--first 3 -k 1 --proof 0 -q -o " + path("p.json")), 6,
                  "There are 3 problems, 3 of which choose, and a cue has to occur in at least 8");
  std::string other;
  for (int i = 0; i < 14; ++i)
    other +=
        "{\"question\": \"What is " + std::to_string(i) + "?\", \"text\": \"<|thought|>So, it is.<|/thought|>1\"}\n";
  expect_sentence(run("--traces " + write("o.jsonl", other) + " --proof 0 -q -o " + path("o.json")), 6,
                  "has an end of thinking (</think>)");
}

TEST_F(Calibrate, CutOffTextsCountAsFarAsTheyGo) {
  std::string rows, row;
  std::ifstream problems(kProblems);
  for (int i = 0; i < 12 && std::getline(problems, row); ++i) {
    Json json = Json::parse(row);
    const auto solution = json["solution"].get<std::string>();
    if (i < 5) json["solution"] = solution.substr(0, solution.size() / 2);
    rows += json.dump() + "\n";
  }
  const auto result = run("--traces " + write("t.jsonl", rows) +
                          " --proof 0 --rule published --min-count 2 --min-problems 2 -q -o " + path("p.json"));
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.error, "5 of 12 traces have no end of thinking")) << result.error;
  EXPECT_TRUE(holds(result.output, "12 problems, 12 traces")) << result.output;
}

TEST_F(Calibrate, TheSmallModelAloneCanOnlyScoreAsThePaperDoes) {
  const std::string small = std::string("-ms ") + RELAYGEN_SOURCE_DIR + "/models/demo/relaygen-demo-small.gguf ";
  expect_sentence(run(small + imported("--rule effect -o " + path("p.json"))), 2,
                  "asks a large model, and there is none");
  const auto result = run(small + imported("--json -o " + path("p.json")));
  ASSERT_EQ(result.code, 0) << result.error;
  const Json json = Json::parse(result.output);
  for (const auto& cue : json["cues"]) EXPECT_FALSE(cue.contains("safe"));
  EXPECT_EQ(read_profile(path("p.json"))->large.name, "");
  expect_sentence(run("--stage cues --min-count 5 --min-problems 4 -q --db " + path("p.db")), 6,
                  "The large model has not read all of these traces");
}

TEST_F(Calibrate, NoCueQualifies) {
  const auto result = run(imported("--min-count 100000 -o " + path("p.json")));
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.output, "No candidate qualifies")) << result.output;
  EXPECT_TRUE(read_profile(path("p.json")));
}

TEST_F(Calibrate, CopiesAndEmptyTextsAreLeftOutWithASentence) {
  std::string rows, row;
  std::ifstream problems(kProblems);
  for (int i = 0; i < 12 && std::getline(problems, row); ++i) rows += row + "\n" + row + "\n";
  rows += "{\"question\": \"q\", \"text\": \"\"}\n";
  const auto result = run("--traces " + write("t.jsonl", rows) +
                          " --proof 0 --rule published --min-count 2 --min-problems 2 -o " + path("p.json"));
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.error, "12 copies of other texts were left out")) << result.error;
  EXPECT_TRUE(holds(result.error, "1 empty texts were left out")) << result.error;
  EXPECT_TRUE(holds(result.output, "12 problems, 12 traces")) << result.output;
}

// ---------------------------------------------------------------- profiles

TEST_F(Calibrate, ProfilesCanBeShownComparedAndChecked) {
  ASSERT_EQ(run(imported("-o " + path("a.json"))).code, 0);
  ASSERT_EQ(
      run("--stage cues --rule published --min-count 20 --min-problems 4 -q --db " + path("a.db -o ") + path("b.json"))
          .code,
      0);
  const auto shown = profile("show " + path("a.json"));
  EXPECT_EQ(shown.code, 0) << shown.error;
  for (const char* part :
       {"relaygen-demo-large", "candidates are cues", "known, and no cues", "\"So,\"", "calibrated on"})
    EXPECT_TRUE(holds(shown.output, part)) << part << "\n" << shown.output;
  const auto same = profile("diff " + path("a.json ") + path("a.json"));
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.output, "");
  const auto other = profile("diff " + path("a.json ") + path("b.json"));
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(holds(other.output, " -> rare")) << other.output;
  const auto checked = profile("validate " + path("a.json ") + RELAYGEN_SOURCE_DIR "/profiles/demo.json");
  EXPECT_EQ(checked.code, 0);
  EXPECT_TRUE(holds(checked.output, "profiles/demo.json: 6 of 13 candidates are cues")) << checked.output;
  expect_sentence(profile("validate " + write("bad.json", "{}")), 5, "it is no profile");
  expect_sentence(profile("show /none.json"), 5, "/none.json");
}

TEST_F(Calibrate, AnEvaluationOnTheSameProblemsIsSaid) {
  ASSERT_EQ(run(imported("-o " + path("a.json"))).code, 0);
  const std::string eval =
      std::string(RELAYGEN_BINARY) + " eval --first 2 --temp 0 --policies large,relay --profile " + path("a.json");
  const auto same = run_shell(eval + " --dataset " + kProblems);
  EXPECT_TRUE(holds(same.error, "2 of the 2 problems are among those that the profile was calibrated on"))
      << same.error;
  const auto held_out = run_shell(eval + " --dataset demo");
  EXPECT_FALSE(holds(held_out.error, "calibrated on")) << held_out.error;
}

}  // namespace
}  // namespace relaygen::testing
