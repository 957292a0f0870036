#include "eval/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "eval/prompt_template.h"
#include "io/hashing.h"

namespace relaygen::eval {
namespace {

Result<Dataset> parse(std::string_view content, const std::string& file = "data.jsonl", const char* preset = nullptr,
                      const ColumnNames& columns = {}) {
  return parse_dataset(content, file, preset == nullptr ? nullptr : find_preset(preset), columns);
}

// One clear sentence that says where.
void expect_error(const Result<Dataset>& result, const std::string& part) {
  ASSERT_FALSE(result) << "expected: " << part;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
  EXPECT_FALSE(result.error().hint.empty());
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
}

// ---------------------------------------------------------------- formats

TEST(Dataset, JsonLinesWithByteOrderMarkAndCrlf) {
  const auto data =
      parse("\xEF\xBB\xBF{\"question\": \"1+1?\", \"answer\": 2}\r\n\r\n{\"question\": \"2+2?\", \"answer\": \"4\"}");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->problems.size(), 2u);
  EXPECT_EQ(data->problems[0].question, "1+1?");
  EXPECT_EQ(data->problems[0].expected, "2");
  EXPECT_EQ(data->problems[1].id, "2");
  EXPECT_EQ(data->kind, AnswerKind::math);
}

TEST(Dataset, JsonArraysAndObjectsThatHoldOne) {
  for (
      const char* text :
      {R"([{"problem": "a", "answer": "1"}, {"problem": "b", "answer": "2"}])",
       R"({"name": "x", "problems": [{"problem": "a", "answer": "1"}, {"problem": "b", "answer": "2"}]})",
       R"({"rows": [{"row_idx": 0, "row": {"problem": "a", "answer": "1"}}, {"row": {"problem": "b", "answer": "2"}}]})",
       "{\n\"anything\": [\n{\"problem\": \"a\", \"answer\": \"1\"},\n{\"problem\": \"b\", \"answer\": \"2\"}]}"}) {
    const auto data = parse(text, "data.json");
    ASSERT_TRUE(data) << data.error().message << text;
    ASSERT_EQ(data->problems.size(), 2u) << text;
    EXPECT_EQ(data->problems[1].question, "b");
  }
}

TEST(Dataset, JsonLinesUnderAnotherName) {
  const auto data =
      parse("{\"problem\": \"a\", \"answer\": \"1\"}\n{\"problem\": \"b\", \"answer\": \"2\"}\n", "test.json");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->problems.size(), 2u);
}

TEST(Dataset, CsvWithQuotesAndLineBreaksInFields) {
  const auto data =
      parse("\xEF\xBB\xBFid,question,answer\r\nx,\"What is \"\"1\"\",\r\n\r\nplus 1?\",2\r\n\r\ny,\"Two, plus two?\",4",
            "data.csv");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->problems.size(), 2u);
  EXPECT_EQ(data->problems[0].question, "What is \"1\",\r\n\r\nplus 1?");
  EXPECT_EQ(data->problems[1].question, "Two, plus two?");
  EXPECT_EQ(data->problems[1].expected, "4");
}

TEST(Dataset, BadRowsAreNamedByTheirLine) {
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n\n{\"question\": "), "data.jsonl, line 3");
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n[1]"), "data.jsonl, line 2");
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n{\"question\": \" \", \"answer\": 1}"),
               "line 2: the question is empty");
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n{\"answer\": 1}"),
               "line 2: there is no text in 'question'");
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n{\"question\": \"b\", \"answer\": null}"),
               "line 2: there is no answer");
  expect_error(parse("{\"question\": \"a\", \"answer\": 1}\n{\"question\": \"caf\xE9\"}"),
               "line 2: byte 0xe9 is not UTF-8");
  expect_error(parse("[{\"question\": \"a\", \"answer\": 1},\n{\"question\" 1}]", "data.json"), "data.json, line 2");
  expect_error(parse("[{\"question\": \"a\", \"answer\": 1}, 7]", "data.json"), "data.json, row 2");
  expect_error(parse("question,answer\na,1\n\"b\nb\",2,3\n", "data.csv"), "data.csv, line 3: the row has 3 fields");
  expect_error(parse("question,answer\na,1\nb \"x\" b,2\n", "data.csv"), "data.csv, line 3: a quote");
  expect_error(parse("question,answer\na,1\n\"b,2\nc,3\n", "data.csv"), "data.csv, line 3: the quotes");
  expect_error(parse("question,answer,question\na,1,b\n", "data.csv"), "two columns 'question'");
}

TEST(Dataset, FilesWithoutProblems) {
  expect_error(parse(""), "data.jsonl is empty");
  expect_error(parse(" \r\n"), "data.jsonl is empty");
  expect_error(parse("[]", "data.json"), "holds no problems");
  expect_error(parse("{}", "data.json"), "holds no array");
  expect_error(parse("question,answer\n", "data.csv"), "holds no problems");
  expect_error(parse("7", "data.json"), "holds no array");
  EXPECT_FALSE(read_dataset("/no/such/file", nullptr, {}));
  EXPECT_FALSE(read_dataset("/tmp", nullptr, {}));
}

TEST(Dataset, IdsThatComeTwiceAreRefused) {
  expect_error(
      parse("{\"id\": 3, \"question\": \"a\", \"answer\": 1}\n{\"id\": \"3\", \"question\": \"b\", \"answer\": 1}"),
      "line 2: the id '3' stands in data.jsonl, line 1 already");
}

TEST(Dataset, NothingMakesTheReaderFail) {  // any bytes give problems or an error
  const std::string whole = "{\"question\": \"a\", \"answer\": 1}\n[{\"rows\": {}}]\n\"q\",\"\"\"\r\n\xFF,{\\u0000}\n";
  for (std::size_t begin = 0; begin < whole.size(); ++begin) {
    for (std::size_t length = 1; begin + length <= whole.size(); length += 3) {
      for (const char* file : {"x.csv", "x.json", "x.jsonl", "x"})
        (void)parse(std::string_view(whole).substr(begin, length), file);
    }
  }
}

// ---------------------------------------------------------------- columns

TEST(Dataset, ColumnsCanBeNamed) {
  const char* text = R"({"q": "1+1?", "question": "other", "gold": "2", "n": 7})";
  const auto data = parse(text, "data.jsonl", nullptr, {.question = "q", .answer = "gold", .id = "n"});
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->problems[0].question, "1+1?");
  EXPECT_EQ(data->problems[0].id, "7");
  EXPECT_EQ(data->taken, "questions from 'q', answers from 'gold', ids from 'n'");
  expect_error(parse(text, "data.jsonl", nullptr, {.answer = "result"}),
               "no column 'result': it has the columns 'q', 'question'");
  expect_error(parse(R"({"x": 1})"), "no column of data.jsonl can be the question: it has the columns 'x'");
  expect_error(parse(R"({"problem": "a"})", "data.jsonl", "aime25"), "expected answer");
}

TEST(Dataset, WithoutAnswersNothingIsGraded) {
  const auto data =
      parse(R"({"key": 1000, "prompt": "Write no commas.", "instruction_id_list": ["x"]})", "x.jsonl", "ifeval");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->kind, AnswerKind::none);
  EXPECT_EQ(data->problems[0].id, "1000");
  EXPECT_EQ(parse(R"({"prompt": "Write."})")->kind, AnswerKind::none);
}

TEST(Dataset, PublishedFilesOfMathematics) {
  const auto gsm8k =
      parse(R"({"question": "How many?", "answer": "First 3.\nThen 4.\n#### 1,234"})", "test.jsonl", "gsm8k");
  ASSERT_TRUE(gsm8k) << gsm8k.error().message;
  EXPECT_EQ(gsm8k->problems[0].expected, "1,234");
  const auto math = parse(
      R"({"problem": "p", "solution": "so \\boxed{3}", "answer": "3", "subject": "a", "level": 2, "unique_id": "test/a/1.json"})",
      "test.jsonl", "math500");
  ASSERT_TRUE(math) << math.error().message;
  EXPECT_EQ(math->problems[0].id, "test/a/1.json");
  EXPECT_EQ(math->problems[0].expected, "3");
  const auto aime = parse("ID,Problem,Solution,Answer\n2024-I-1,\"Find $n$.\",long,025\n", "aime.csv", "aime24");
  ASSERT_TRUE(aime) << aime.error().message;
  EXPECT_EQ(aime->problems[0].expected, "025");
  EXPECT_EQ(aime->problems[0].id, "2024-I-1");
  const auto solutions = parse(R"({"problem": "p", "solution": "so it is \\boxed{42}."})");
  ASSERT_TRUE(solutions) << solutions.error().message;
  EXPECT_EQ(solutions->problems[0].expected, "42");
  expect_error(parse(R"({"problem": "p", "solution": "it is 42"})"), "holds no \\boxed answer");
}

// ---------------------------------------------------------------- options

constexpr const char* kGpqa =
    "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"
    "r1,Which?,right,wrong 1,wrong 2,wrong 3\nr2,What?,right,wrong 1,wrong 2,wrong 3\n"
    "r3,Who?,right,wrong 1,wrong 2,wrong 3\nr4,When?,right,wrong 1,wrong 2,wrong 3\n"
    "r5,Why?,right,wrong 1,wrong 2,wrong 3\nr6,Where?,right,wrong 1,wrong 2,wrong 3\n";

TEST(Dataset, GpqaIsShuffledTheSameWayEachTime) {
  const auto data = parse(kGpqa, "gpqa_diamond.csv", "gpqa-diamond");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->kind, AnswerKind::choice);
  std::set<std::string> letters;
  for (const auto& problem : data->problems) {
    ASSERT_EQ(problem.options.size(), 4u);
    EXPECT_EQ(problem.options[static_cast<std::size_t>(problem.expected[0] - 'A')], "right");
    letters.insert(problem.expected);
  }
  EXPECT_GT(letters.size(), 1u);                           // the right one does not always stand at the same place
  EXPECT_EQ(parse(kGpqa, "other.csv")->hash, data->hash);  // also found by the names of the columns
  // Other problems around it change nothing for a problem.
  const auto last = parse(
      std::string(kGpqa).substr(0, std::string(kGpqa).find('\n') + 1) + "r6,Where?,right,wrong 1,wrong 2,wrong 3\n",
      "gpqa.csv", "gpqa-diamond");
  EXPECT_EQ(last->problems[0].options, data->problems[5].options);
}

TEST(Dataset, OptionsAsListOrColumns) {
  const auto index = parse(R"({"question": "q", "choices": ["a", "b", "c"], "answer": 2})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->problems[0].expected, "C");
  EXPECT_EQ(parse(R"({"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answer": "B"})")
                ->problems[0]
                .expected,
            "B");
  EXPECT_EQ(parse(R"({"question": "q", "options": ["x", "y"], "answer": "y"})")->problems[0].expected, "B");
  EXPECT_EQ(parse(R"({"question": "q", "options": ["2", "1"], "answer": "1"})")->problems[0].expected, "B");
  const auto columns = parse("question,A,B,answer\nq,one,two,b\n", "x.csv", nullptr, {.options = {"A", "B"}});
  ASSERT_TRUE(columns) << columns.error().message;
  EXPECT_EQ(columns->problems[0].expected, "B");
  EXPECT_EQ(columns->problems[0].options, (std::vector<std::string>{"one", "two"}));
  expect_error(parse(R"({"question": "q", "options": ["x", "y"], "answer": "z"})"),
               "line 1: the answer 'z' is none of the 2 options");
  expect_error(parse(R"({"question": "q", "options": ["x"], "answer": "x"})"), "1 options cannot be lettered");
  expect_error(parse(R"({"question": "q", "answer": "x"})", "x.jsonl", "gpqa-diamond"), "hold the options");
}

// ---------------------------------------------------------------- templates

Problem choice() {
  return {.id = "1",
          .question = "Which {options}?",
          .expected = "A",
          .kind = AnswerKind::choice,
          .options = {"one", "two"}};
}

TEST(PromptTemplate, FillsInQuestionAndOptions) {
  const auto made = PromptTemplate::parse("Q: {question}\n{options}\n{{x}} \\boxed{} {A} {", "t", AnswerKind::choice);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->render(choice()), "Q: Which {options}?\nA) one\nB) two\n{x} \\boxed{} {A} {");
}

TEST(PromptTemplate, RefusesWhatItCannotFillIn) {
  const auto error = [](const char* text, AnswerKind kind) {
    const auto made = PromptTemplate::parse(text, "t.txt", kind);
    return made ? "" : made.error().message + ". " + made.error().hint;
  };
  EXPECT_NE(error("{question} {answer}", AnswerKind::math).find("unknown placeholder {answer}"), std::string::npos);
  EXPECT_NE(error("{question} {answer}", AnswerKind::math).find("{{answer}}"), std::string::npos);
  EXPECT_NE(error("no place", AnswerKind::math).find("no {question}"), std::string::npos);
  EXPECT_NE(error("{question}", AnswerKind::choice).find("no {options}"), std::string::npos);
  EXPECT_NE(error("{question}{options}", AnswerKind::math).find("have none"), std::string::npos);
}

TEST(PromptTemplate, TheOnesThatComeWithRelayGenFit) {
  for (const AnswerKind kind : {AnswerKind::math, AnswerKind::choice, AnswerKind::none})
    EXPECT_TRUE(PromptTemplate::parse(std::string(default_template(nullptr, kind)), "default", kind));
  for (const auto& preset : presets())
    EXPECT_TRUE(PromptTemplate::parse(std::string(default_template(&preset, preset.kind)), "default", preset.kind))
        << preset.name;
}

// ---------------------------------------------------------------- seeds

TEST(Seeds, BelongToProblemAndSample) {
  EXPECT_EQ(output_seed(1, "a", 0), output_seed(1, "a", 0));
  EXPECT_NE(output_seed(1, "a", 0), output_seed(2, "a", 0));
  EXPECT_NE(output_seed(1, "a", 0), output_seed(1, "b", 0));
  EXPECT_NE(output_seed(1, "a", 0), output_seed(1, "a", 1));
  EXPECT_LT(output_seed(~0ull, "z", 9), 1ull << 63);
}

TEST(Seeds, PiecesOfAHashDoNotRunIntoEachOther) {
  EXPECT_NE(Hash().add("ab").add("c").value(), Hash().add("a").add("bc").value());
  EXPECT_EQ(Hash().add("ab").hex().size(), 16u);
}

}  // namespace
}  // namespace relaygen::eval
