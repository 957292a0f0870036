#include "eval/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/database.h"

namespace relaygen::eval {
namespace {

// A folder of its own for each test.
class StoreFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("relaygen-store-" + std::to_string(::getpid()) + "-" +
                                                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name = "eval.db") const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

template <typename T>
void expect_error(const Result<T>& result, ErrorKind kind, const std::string& part) {
  ASSERT_FALSE(result) << "expected: " << part;
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_FALSE(result.error().hint.empty());
}

Output an_output() {
  Output output{.text = std::string("<think>so\xFF</think>\0 42", 20), .answer = "42", .finish = FinishReason::stop};
  output.tokens = {.prompt = 3, .generated = 9, .phases = TokenCounts::Phases{.thinking = 5, .answer = 4}};
  output.tokens.authors = TokenCounts::Authors{.large = 6, .small = 2, .forced = 1, .handoffs = 2, .dropped = 3};
  output.time = {.total = 1.25,
                 .parts = TimeSpent::Parts{.prefill = 0.25, .large_decode = 0.5, .small_decode = 0.1, .catch_up = 0.2}};
  output.segments = {{"large", 0, 9}, {"small", 9, 20}};
  return output;
}

StoredProblem a_problem(const std::string& id, const std::string& prompt = "What?") {
  return {{.id = id, .question = "What?", .expected = "B", .kind = AnswerKind::choice, .options = {"x", "y"}}, prompt};
}

TEST_F(StoreFile, KeepsEverythingOfAnOutput) {
  {
    auto store = Store::open(path());
    ASSERT_TRUE(store) << store.error().message;
    ASSERT_TRUE(store->put({"relay", "p1", 2}, an_output(), "right", "2026-11-30T15:20:00Z", 3));
  }
  const auto store = Store::open_to_read(path());
  ASSERT_TRUE(store) << store.error().message;
  const auto found = store->find({"relay", "p1", 2});
  ASSERT_TRUE(found && *found);
  const Output expected = an_output();
  const Output& output = (*found)->output;
  EXPECT_EQ((*found)->attempts, 3u);
  EXPECT_EQ(output.text, expected.text);  // also a zero byte and one that is no UTF-8
  EXPECT_EQ(output.answer, "42");
  EXPECT_EQ(output.finish, FinishReason::stop);
  EXPECT_EQ(output.tokens.generated, 9u);
  EXPECT_EQ(output.tokens.phases->answer, 4u);
  EXPECT_EQ(output.tokens.authors->handoffs, 2u);
  EXPECT_EQ(output.time.total, 1.25);
  EXPECT_EQ(output.time.parts->catch_up, 0.2);
  ASSERT_EQ(output.segments.size(), 2u);
  EXPECT_EQ(output.segments[1].author, "small");
  EXPECT_EQ(output.segments[1].end, 20u);
  EXPECT_FALSE(*store->find({"relay", "p1", 0}));
  EXPECT_EQ(*store->samples(), 3u);
}

TEST_F(StoreFile, WhatAnEndpointDoesNotTellStaysUnknown) {
  auto store = Store::in_memory();
  ASSERT_TRUE(store);
  const Output output{
      .text = "42", .answer = "42", .finish = FinishReason::stop, .tokens = {.generated = 1}, .time = {.total = 2}};
  ASSERT_TRUE(store->put({"server", "p", 0}, output, "right", "", 1));
  const auto found = store->find({"server", "p", 0});
  EXPECT_FALSE((*found)->output.tokens.authors);
  EXPECT_FALSE((*found)->output.tokens.phases);
  EXPECT_FALSE((*found)->output.time.parts);
}

TEST_F(StoreFile, AnOutputTakesThePlaceOfAnError) {
  auto store = Store::in_memory();
  ASSERT_TRUE(store);
  const OutputKey key{"relay", "p", 0};
  ASSERT_TRUE(store->put_error(key, "no room", "", 2));
  EXPECT_TRUE(store->done()->empty());
  EXPECT_EQ((*store->find(key))->error, "no room");
  ASSERT_TRUE(store->put(key, an_output(), "right", "", 1));
  EXPECT_TRUE(store->done()->contains(key));
  EXPECT_FALSE((*store->find(key))->error);
  EXPECT_EQ((*store->find(key))->attempts, 3u);
  int seen = 0;
  ASSERT_TRUE(store->for_each([&](const StoredOutput& one) { seen += one.key == key ? 1 : 100; }));
  EXPECT_EQ(seen, 1);
}

TEST_F(StoreFile, OtherSettingsAreRefusedAndNamed) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  EXPECT_TRUE(store->settle("generation", {{"temperature", 0.6}, {"stop", {"a"}}}));
  EXPECT_TRUE(store->settle("generation", {{"stop", {"a"}}, {"temperature", 0.6}}));  // the order does not matter
  expect_error(store->settle("generation", {{"temperature", 0.0}, {"stop", {"a"}}}), ErrorKind::usage,
               "was begun with temperature 0.6, and this run has 0.0");
  expect_error(store->settle("generation", {{"temperature", 0.6}}), ErrorKind::usage, "stop");
  EXPECT_TRUE(store->settle_policy({"relay", {{"cues", "abc"}}}));
  EXPECT_TRUE(store->settle_policy({"random", {{"rate", 0.3}}}));
  expect_error(store->settle_policy({"relay", {{"cues", "abd"}}}), ErrorKind::usage, "cues 'abc' for relay");
  EXPECT_EQ(store->policies()->front().name, "relay");
  EXPECT_TRUE(store->settings("nothing")->is_null());
}

TEST_F(StoreFile, WithoutOutputsSettingsBindNobody) {
  auto store = Store::in_memory();
  ASSERT_TRUE(store->settle("generation", {{"temperature", 0.6}}));
  ASSERT_TRUE(store->begin_anew_if_empty());
  EXPECT_TRUE(store->settle("generation", {{"temperature", 0.0}}));
  ASSERT_TRUE(store->put_error({"relay", "p", 0}, "x", "", 1));
  ASSERT_TRUE(store->begin_anew_if_empty());
  EXPECT_FALSE(store->settle("generation", {{"temperature", 0.6}}));
}

TEST_F(StoreFile, ProblemsGrowAndKeepTheirOrder) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  ASSERT_TRUE(store->add_problems(std::vector{a_problem("c")}, std::vector<std::size_t>{2}));
  ASSERT_TRUE(store->add_problems(std::vector{a_problem("a"), a_problem("c")}, std::vector<std::size_t>{0, 2}));
  const auto problems = store->problems();
  ASSERT_EQ(problems->size(), 2u);
  EXPECT_EQ((*problems)[0].problem.id, "a");
  EXPECT_EQ((*problems)[1].problem.options, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ((*problems)[1].problem.kind, AnswerKind::choice);
  expect_error(store->add_problems(std::vector{a_problem("c", "Why?")}, std::vector<std::size_t>{2}), ErrorKind::usage,
               "the prompt 'What?' for problem c, and this run has 'Why?'");
}

TEST_F(StoreFile, ASecondWriterIsRefusedAndAReaderIsNot) {
  auto store = Store::open(path());
  ASSERT_TRUE(store);
  expect_error(Store::open(path()), ErrorKind::output_failed, "another relaygen is writing");
  ASSERT_TRUE(store->put_error({"relay", "p", 0}, "x", "", 1));
  const auto reader = Store::open_to_read(path());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(*reader->find({"relay", "p", 0}));
  store = Store::in_memory();
  EXPECT_TRUE(Store::open(path()));  // the lock ends with the writer
}

TEST_F(StoreFile, FilesThatAreNoEvaluation) {
  std::ofstream(path("text")) << "This is no database, but it is long enough to look at.";
  std::ofstream(path("short")) << "x";
  { SQLite::Database(path("foreign"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE a (b)"); }
  { ASSERT_TRUE(Store::open(path("newer"))); }
  { SQLite::Database(path("newer"), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99"); }
  { ASSERT_TRUE(Store::open(path("damaged"))); }
  std::fstream(path("damaged"), std::ios::in | std::ios::out | std::ios::binary).seekp(100) << std::string(2000, 'x');
  const std::string before = [&] {
    std::ifstream file(path("text"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  using Open = Result<Store> (*)(const std::string&);
  for (const Open open : {Open(&Store::open), Open(&Store::open_to_read)}) {
    expect_error(open(path("text")), ErrorKind::bad_input, "is no database of an evaluation");
    expect_error(open(path("short")), ErrorKind::bad_input, "is no database of an evaluation");
    expect_error(open(path("foreign")), ErrorKind::bad_input, "is a database of another kind, not an evaluation");
    expect_error(open(path("newer")), ErrorKind::bad_input, "a newer RelayGen");
    expect_error(open(path("damaged")), ErrorKind::bad_input, "damaged");
    expect_error(open(folder_.string()), ErrorKind::bad_input, "is a folder");
  }
  std::ifstream file(path("text"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), before);
  expect_error(Store::open(path("no/such/folder/x")), ErrorKind::output_failed, "cannot write");
  expect_error(Store::open_to_read(path("missing")), ErrorKind::bad_input, "No such file");
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
}

TEST_F(StoreFile, ErrorsOfSqliteAreSentences) {
  const auto error = [](int code) { return explain(SQLite::Exception("words of SQLite", code), "e.db"); };
  EXPECT_EQ(error(SQLITE_FULL).message, "e.db cannot grow: the disk is full");
  EXPECT_EQ(error(SQLITE_FULL).kind, ErrorKind::output_failed);
  EXPECT_EQ(error(SQLITE_IOERR).kind, ErrorKind::output_failed);
  EXPECT_EQ(error(SQLITE_READONLY).message, "e.db is read-only");
  EXPECT_EQ(error(SQLITE_BUSY).message, "e.db is held by another program");
  EXPECT_EQ(error(SQLITE_NOMEM).kind, ErrorKind::out_of_memory);
  EXPECT_EQ(error(SQLITE_CORRUPT).kind, ErrorKind::bad_input);
}

TEST_F(StoreFile, AnEmptyFileBecomesAnEvaluationOnlyForAWriter) {
  std::ofstream(path()).flush();
  expect_error(Store::open_to_read(path()), ErrorKind::bad_input, "does not hold an evaluation yet");
  EXPECT_TRUE(Store::open(path()));
  EXPECT_TRUE(Store::open_to_read(path()));
}

}  // namespace
}  // namespace relaygen::eval
