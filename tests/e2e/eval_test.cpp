// relaygen eval as a user meets it: datasets, interruptions of every kind, endpoints that misbehave.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "eval/store.h"
#include "support/http_server.h"
#include "support/program.h"

namespace relaygen::testing {
namespace {

using Json = nlohmann::json;
using eval::Store;

class Eval : public InFolder {
 protected:
  [[nodiscard]] static ProcessResult run(const std::string& arguments, const std::string& before = "") {
    return run_shell(before + RELAYGEN_BINARY + " eval " + arguments);
  }
  // Three problems that a server can be asked.
  [[nodiscard]] std::string questions() const {
    return write("questions.jsonl",
                 "{\"id\": \"a\", \"question\": \"1?\", \"answer\": \"42\"}\n{\"id\": \"b\", \"question\": \"2?\", "
                 "\"answer\": \"42\"}\n{\"id\": \"c\", \"question\": \"3?\", \"answer\": \"43\"}\n");
  }
};

constexpr const char* kEndpointFlags = " --endpoint-wait 0.001 --endpoint-attempts 2 ";

// What has to be equal after a repetition: everything but times.
std::string numbers(const Json& report) {
  Json kept = Json::array();
  for (const Json& policy : report["policies"]) {
    Json one;
    for (const char* key : {"name", "outputs", "missing", "accuracy", "difference", "verdicts", "tokens", "lengths",
                            "small_share", "handoffs", "truncated"})
      one[key] = policy[key];
    kept.push_back(one);
  }
  return kept.dump(1);
}

// ---------------------------------------------------------------- the bundled pair

TEST_F(Eval, TheDemoNeedsNothingElse) {
  const auto result = run("--dataset demo --first 5 --temp 0 --policies large,small,relay");
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.output, "demo: 5 problems")) << result.output;
  for (const char* word : {"large-only", "small-only", "relay", "speed-up", "verdict", "handoffs"})
    EXPECT_TRUE(holds(result.output, word)) << result.output;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line) && !line.starts_with("small-only: ");) EXPECT_LE(line.size(), 100u);
}

// Where the small model is tried everywhere the texts depend on how long its segments get.
TEST_F(Eval, ALengthThatFollowsFromTheMachineIsKeptWithTheTexts) {
  const auto length = [](const std::string& db) {
    auto store = Store::open_to_read(db);
    EXPECT_TRUE(store);
    const auto policies = store->policies();
    EXPECT_TRUE(policies && policies->size() == 1);
    return policies->front().settings.value("max_small_tokens", 0);
  };
  const std::string command = "--dataset demo --temp 0 --policies verified --json --db ";
  EXPECT_EQ(run(command + path("own.db") + " --first 1").code, 0);
  const std::set<int> lengths{3, 7, 15, 31, 63};
  EXPECT_TRUE(lengths.contains(length(path("own.db")))) << length(path("own.db"));

  const auto both = run("--dataset demo --first 1 --temp 0 --policies verified,relay --json");
  EXPECT_EQ(Json::parse(both.output)["baseline"], "verified");  // the first, though its length was found last

  // As if another machine had begun: this one goes on with its number.
  EXPECT_EQ(run(command + path("theirs.db") + " --first 1 --max-small-tokens 2").code, 0);
  const auto more = run(command + path("theirs.db") + " --first 2");
  EXPECT_EQ(more.code, 0) << more.error;
  EXPECT_EQ(length(path("theirs.db")), 2);
  EXPECT_EQ(Json::parse(more.output)["policies"][0]["outputs"], 2);
}

TEST_F(Eval, JsonHoldsTheReport) {
  const auto result = run("--dataset demo --first 3 --temp 0 --policies large,relay,random -k 2 -n 100 --json");
  EXPECT_EQ(result.code, 0) << result.error;
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json["kind"], "eval");
  EXPECT_EQ(json["dataset"]["problems"], 3);
  EXPECT_EQ(json["dataset"]["samples"], 2);
  EXPECT_EQ(json["baseline"], "large-only");
  EXPECT_EQ(json["models"]["large"], "relaygen-demo-large");
  ASSERT_EQ(json["policies"].size(), 3u);
  const Json& relay = json["policies"][1];
  EXPECT_EQ(relay["outputs"], 6);
  EXPECT_EQ(relay["compared"], 3);
  EXPECT_EQ(relay["lengths"].size(), 6u);
  EXPECT_GT(relay["small_share"], 0.0);
  EXPECT_TRUE(relay["difference"].is_object());
  EXPECT_TRUE(relay["speed_up"].is_object());
  EXPECT_TRUE(json["policies"][0]["difference"].is_null());
  EXPECT_GT(relay["truncated"], 0.0);
  EXPECT_GT(relay["verdicts"]["unfinished"], 0);
}

TEST_F(Eval, OwnDatasetsTemplatesAndProblems) {
  const auto file = write("own.csv", "name,text,result\nx,\"What is 12 + 30?\",42\ny,\"What is 145 + 30?\",7\n");
  const auto prompt = write("prompt.txt", "{question}\n");
  const std::string columns = " --question-column text --answer-column result --id-column name ";
  const auto result = run("--dataset " + file + columns + "--template " + prompt +
                          " --problems x --policies large --temp 0 --db " + path("e.db"));
  EXPECT_EQ(result.code, 0) << result.error;
  EXPECT_TRUE(holds(result.error, "2 rows, questions from 'text', answers from 'result', ids from 'name'"))
      << result.error;
  EXPECT_TRUE(holds(result.output, "own: 1 problem.")) << result.output;
  const auto store = Store::open_to_read(path("e.db"));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store->find({"large-only", "x", 0}))->output.tokens.phases->thinking > 0, true);
  EXPECT_EQ(store->problems()->front().prompt, "What is 12 + 30?");
}

TEST_F(Eval, AnEvaluationGrows) {
  const std::string flags = "--dataset demo --temp 0 -q --db " + path("e.db");
  EXPECT_EQ(run(flags + " --first 2 --policies small").code, 0);
  EXPECT_EQ(run(flags + " --first 3 --policies small,relay").code, 0);
  const auto shown = run("--db " + path("e.db") + " --only-report --json");
  EXPECT_EQ(shown.code, 0) << shown.error;
  const Json json = Json::parse(shown.output);
  EXPECT_EQ(json["policies"][0]["outputs"], 3);
  EXPECT_EQ(json["policies"][1]["outputs"], 3);
  EXPECT_EQ(json["baseline"], "small-only");
  EXPECT_EQ(Store::open_to_read(path("e.db"))->runs()->size(), 2u);
  expect_sentence(run("--dataset demo --temp 0.7 -q --first 2 --policies small --db " + path("e.db")), 2,
                  "was begun with temperature 0.0, and this run has 0.7");
  const auto html = run("--db " + path("e.db") + " --only-report --markdown --report " + path("r.html"));
  EXPECT_EQ(html.code, 0) << html.error;
  EXPECT_TRUE(holds(html.output, "| relay |")) << html.output;
  EXPECT_TRUE(holds(read(path("r.html")), "<html"));
  EXPECT_TRUE(holds(run("--db " + path("e.db") + " --only-report --csv").output, "policy,"));
}

TEST_F(Eval, TheRandomRateCanFollowTheRelay) {
  const std::string flags =
      "--dataset demo --first 1 --temp 0 --policies relay,random --random-rate match --db " + path("e.db");
  const auto first = run(flags);
  EXPECT_EQ(first.code, 0) << first.error;
  EXPECT_TRUE(holds(first.error, "The rate of random is ")) << first.error;
  const auto again = run(flags + " -k 2");  // the rate is not looked for again
  EXPECT_EQ(again.code, 0) << again.error;
  EXPECT_FALSE(holds(again.error, "The rate of random is ")) << again.error;
}

// ---------------------------------------------------------------- killed, full, shared

TEST_F(Eval, KilledADozenTimesItComesToTheSameNumbers) {
  const std::string flags = "--dataset demo --first 8 --temp 0 --policies small,relay -q --json --db ";
  const auto whole = run(flags + path("whole.db"));
  ASSERT_EQ(whole.code, 0) << whole.error;
  std::minstd_rand random(7);
  for (int i = 0; i < 12; ++i)
    run_and_kill("eval " + flags + path("killed.db"), std::uniform_int_distribution<int>(20, 500)(random));
  const auto killed = run(flags + path("killed.db"));
  ASSERT_EQ(killed.code, 0) << killed.error;
  EXPECT_EQ(numbers(Json::parse(killed.output)), numbers(Json::parse(whole.output)));
  const auto a = Store::open_to_read(path("whole.db"));
  const auto b = Store::open_to_read(path("killed.db"));
  const auto keys = a->done();
  ASSERT_EQ(keys->size(), 16u);
  for (const auto& key : *keys) {
    const auto expected = *a->find(key);
    const auto found = *b->find(key);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->output.text, expected->output.text);
    EXPECT_EQ(found->attempts, 1u);  // nothing was written twice
  }
}

TEST_F(Eval, AFullDiskKeepsWhatWasStored) {
  const std::string flags = "--dataset demo --first 12 --temp 0 --policies small -q --db " + path("e.db");
  const auto stored = [&] {
    const auto store = Store::open_to_read(path("e.db"));
    return store ? store->done()->size() : 0;
  };
  const auto full = run(flags, "ulimit -f 320; ");  // blocks of 512 bytes
  expect_sentence(full, 9, "e.db cannot");
  EXPECT_LT(stored(), 12u);
  EXPECT_EQ(run(flags).code, 0);
  EXPECT_EQ(stored(), 12u);
}

TEST_F(Eval, OneWriterAtATime) {
  const std::string flags = "--dataset demo --first 1 --temp 0 --policies small -q --db " + path("e.db");
  EXPECT_EQ(run(flags).code, 0);
  {
    const auto writer = Store::open(path("e.db"));
    ASSERT_TRUE(writer);
    expect_sentence(run(flags), 9, "another relaygen is writing to");
    EXPECT_EQ(run("--only-report --db " + path("e.db")).code, 0);  // looking is allowed
  }
  EXPECT_EQ(run(flags).code, 0);
}

TEST_F(Eval, FilesThatAreNoEvaluationAreLeftAlone) {
  const auto file = write("notes.txt", "These are notes, and nobody wants to lose them.");
  expect_sentence(run("--dataset demo --first 1 --db " + file), 6, "is no database of an evaluation");
  EXPECT_EQ(read(file), "These are notes, and nobody wants to lose them.");
  expect_sentence(run("--dataset demo --first 1 --db /no/such/folder/e.db"), 9, "cannot write /no/such/folder/e.db");
  expect_sentence(run("--only-report --db " + path("missing.db")), 6, "No such file");
}

TEST_F(Eval, AReportThatCannotBeWrittenIsSaid) {
  const auto result = run("--dataset demo --first 1 --temp 0 --policies small --report /no/such/folder/r.html");
  EXPECT_EQ(result.code, 9);
  EXPECT_TRUE(holds(result.output, "small-only"));  // the table is there all the same
  EXPECT_TRUE(holds(result.error, "/no/such/folder/r.html")) << result.error;
}

// ---------------------------------------------------------------- endpoints

TEST_F(Eval, AnEndpointIsARowLikeAnyOther) {
  const HttpServer server(
      [](int, const std::string&) { return HttpAnswer{.body = chat_completion("<think>hm</think>\\boxed{42}")}; });
  const auto result = run("--dataset " + questions() + " --endpoint server=" + server.url() + kEndpointFlags +
                              "--json --db " + path("e.db"),
                          "RELAYGEN_API_KEY=sk-very-secret ");
  EXPECT_EQ(result.code, 0) << result.error;
  const Json row = Json::parse(result.output)["policies"][0];
  EXPECT_EQ(row["name"], "server");
  EXPECT_EQ(row["endpoint"], server.url() + "/v1/chat/completions");
  EXPECT_EQ(row["verdicts"]["right"], 2);
  EXPECT_EQ(row["verdicts"]["wrong"], 1);
  EXPECT_EQ(row["tokens"]["mean"], 7.0);
  EXPECT_TRUE(row["utilisation"].is_null());
  EXPECT_FALSE(holds(result.output + result.error + read(path("e.db")), "sk-very-secret"));
  EXPECT_EQ(run("--dataset " + questions() + " --endpoint server=" + server.url() + " --db " + path("e.db")).code, 0);
  EXPECT_EQ(server.requests(), 3);  // nothing was missing
}

TEST_F(Eval, ABrokenEndpointIsLeftOutAndComesBack) {
  std::atomic<bool> broken{true};
  const HttpServer good([](int, const std::string&) { return HttpAnswer{.body = chat_completion("\\boxed{42}")}; });
  const HttpServer bad([&](int number, const std::string&) -> HttpAnswer {
    if (!broken) return {.body = chat_completion("\\boxed{43}")};
    switch (number % 4) {
      case 0: return {.body = chat_completion("\\boxed{42}"), .dies = true};
      case 1: return {.body = "<html>Not here</html>"};
      case 2: return {.status = 429, .headers = {"Retry-After: 0"}};
      default: return {.status = 500, .body = R"({"error": {"message": "out of memory"}})"};
    }
  });
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += "{\"question\": \"" + std::to_string(i) + "?\", \"answer\": \"42\"}\n";
  const std::string flags = "--dataset " + write("eight.jsonl", lines) + " --endpoint good=" + good.url() +
                            " --endpoint bad=" + bad.url() + kEndpointFlags + "--json --db " + path("e.db");
  const auto first = run(flags);
  EXPECT_EQ(first.code, 10) << first.error;
  const Json json = Json::parse(first.output);
  EXPECT_EQ(json["policies"][0]["outputs"], 8);
  EXPECT_EQ(json["policies"][1]["outputs"], 0);
  EXPECT_EQ(json["policies"][1]["errors"], 5);
  EXPECT_EQ(json["policies"][1]["missing"], 3);
  EXPECT_TRUE(json["policies"][1]["accuracy"].is_null());  // an error is no wrong answer
  EXPECT_TRUE(holds(json["notes"].dump(), "0 of 8 outputs are there")) << json["notes"];
  EXPECT_TRUE(holds(first.error, "bad failed 5 times in a row")) << first.error;
  EXPECT_EQ(bad.requests(), 10);
  broken = false;
  const auto second = run(flags);
  EXPECT_EQ(second.code, 0) << second.error;
  EXPECT_EQ(Json::parse(second.output)["policies"][1]["verdicts"]["wrong"], 8);
  EXPECT_EQ(good.requests(), 8);
}

TEST_F(Eval, AnEndpointThatHangsOrIsNotThere) {
  const HttpServer server([](int, const std::string&) { return HttpAnswer{.hangs = true}; });
  const auto hangs = run("--dataset " + questions() + " --first 1 --endpoint a=" + server.url() + kEndpointFlags +
                         "--endpoint-timeout 0.2");
  EXPECT_EQ(hangs.code, 10);
  EXPECT_TRUE(holds(hangs.error, "a, problem a: the server sent nothing for 0.2 s")) << hangs.error;
  EXPECT_TRUE(holds(hangs.output, "1 output failed")) << hangs.output;
  const auto nobody = run("--dataset " + questions() + " --first 1 --endpoint a=http://127.0.0.1:1" + kEndpointFlags);
  EXPECT_EQ(nobody.code, 10);
  EXPECT_TRUE(holds(nobody.error, "cannot be reached")) << nobody.error;
}

TEST_F(Eval, ASignalShowsWhatIsThereAndHowToGoOn) {
  const auto pid_file = path("pid");
  const HttpServer server([&](int number, const std::string&) {
    if (number == 2) ::kill(std::stoi(read(pid_file)), SIGINT);
    return HttpAnswer{.body = chat_completion("\\boxed{42}")};
  });
  const std::string flags = "--dataset " + questions() + " --endpoint server=" + server.url() + " --db " + path("e.db");
  const auto stopped = run_shell(RELAYGEN_BINARY " eval " + flags + " & echo $! > " + pid_file + "; wait $!");
  EXPECT_EQ(stopped.code, 130) << stopped.error;
  EXPECT_TRUE(holds(stopped.output, "server")) << stopped.output;
  EXPECT_TRUE(holds(stopped.error, "The same command goes on: relaygen eval --dataset ")) << stopped.error;
  EXPECT_GE(Store::open_to_read(path("e.db"))->done()->size(), 2u);
  EXPECT_EQ(run(flags).code, 0);
  EXPECT_LE(server.requests(), 4);
}

TEST_F(Eval, ATerminalShowsProgress) {
  const HttpServer server([&](int, const std::string&) {
    ::usleep(250'000);
    return HttpAnswer{.body = chat_completion("\\boxed{42}")};
  });
  const auto result = run_in_terminal(RELAYGEN_BINARY " eval --dataset " + questions() + " --endpoint " + server.url());
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(holds(result.output, "outputs: 2 of 3 [")) << result.output;
  EXPECT_TRUE(holds(result.output, " left")) << result.output;
}

// ---------------------------------------------------------------- flags

TEST_F(Eval, TheMarginIsThatOfTheBeginning) {
  const std::string db = path("e.db");
  ASSERT_EQ(run("--dataset demo --first 3 --policies large,small --temp 0 -q --margin 0.05 --db " + db).code, 0);
  const auto margin = [&](const std::string& more) {
    const auto shown = run("--only-report --json --db " + db + more);
    EXPECT_EQ(shown.code, 0) << shown.error;
    const Json json = Json::parse(shown.output);
    return std::pair(json["margin"].get<double>(), json["notes"].dump().find("after looking") != std::string::npos);
  };
  EXPECT_EQ(margin(""), std::pair(0.05, false));
  EXPECT_EQ(margin(" --margin 0.05"), std::pair(0.05, false));
  EXPECT_EQ(margin(" --margin 0.5"), std::pair(0.5, true));
  expect_sentence(run("--only-report -k 0 --db " + db), 2, "--samples");
  expect_sentence(run("--only-report --first -3 --db " + db), 2, "--first");
  expect_sentence(run("--only-report --problems nope --db " + db), 2, "nope");
}

TEST_F(Eval, FlagsThatMakeNoSense) {
  expect_sentence(run(""), 2, "there is no dataset");
  expect_sentence(run("--dataset aime25"), 2, "aime25 does not come with RelayGen");
  expect_sentence(run("--dataset nothing"), 6, "no file and no known dataset 'nothing'");
  expect_sentence(run("--dataset demo --policies turbo"), 2, "no policy 'turbo'");
  expect_sentence(run("--dataset demo --policies large,large-only"), 2, "names 'large-only' twice");
  expect_sentence(run("--dataset demo --baseline none"), 2, "baseline 'none'");
  expect_sentence(run("--dataset demo --problems nobody"), 2, "no problem 'nobody'");
  expect_sentence(run("--dataset demo --random-rate often"), 2, "--random-rate is 'often'");
  expect_sentence(run("--dataset demo --margin 0"), 2, "--margin is 0");
  expect_sentence(run("--dataset demo --json --csv"), 2, "exclude each other");
  expect_sentence(run("--dataset demo --endpoint ftp://x"), 2, "no http or https URL");
  expect_sentence(run("--dataset demo --endpoint http://a --endpoint http://b"), 2,
                  "'endpoint' of an endpoint is taken");
  expect_sentence(run("--dataset demo --endpoint a=http://x --endpoint b=http://y --endpoint-model m"), 2,
                  "which endpoint");
  expect_sentence(run("--dataset demo --top-p 7"), 2, "top-p is 7");
  expect_sentence(run("--dataset demo -m x.gguf"), 2, "small one is missing");
  expect_sentence(run("--only-report"), 2, "nothing to show");
  expect_sentence(run("--dataset " + write("bad.jsonl", "{\"question\": \"a\", \"answer\": 1}\n{\"question\"\n")), 6,
                  "bad.jsonl, line 2");
  expect_sentence(run("--dataset demo --template " + write("t.txt", "{question} {x}")), 2, "unknown placeholder {x}");
}

}  // namespace
}  // namespace relaygen::testing
