#include "io/files.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "io/completion_json.h"
#include "io/line_writer.h"

namespace relaygen {
namespace {

TEST(Texts, PlainTextIsOneText) {
  const auto texts = parse_texts("So, we think.\n", "a.txt").value();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].id, "a.txt");
  EXPECT_EQ(texts[0].text, "So, we think.\n");
}

TEST(Texts, LinesOfJsonAreOneTextEach) {
  const auto texts =
      parse_texts(
          "{\"id\": \"x\", \"text\": \"a\"}\n\n{\"problem_id\": 3, \"completion\": \"b\"}\r\n{\"response\": \"c\"}",
          "a.jsonl")
          .value();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0].id, "x");
  EXPECT_EQ(texts[1].id, "3");
  EXPECT_EQ(texts[2].id, "4");
  EXPECT_EQ(texts[2].text, "c");
}

TEST(Texts, ABadLineIsNamed) {
  const auto message = [](std::string_view content) { return parse_texts(content, "a.jsonl").error().message; };
  EXPECT_EQ(message("{\"text\": \"a\"}\n{oops}\n"), "a.jsonl, line 2: no valid JSON object");
  EXPECT_EQ(message("{\"prompt\": \"a\"}\n"), "a.jsonl, line 1: no \"text\"");
  EXPECT_EQ(message("ok \xC3"), "a.jsonl is not UTF-8: byte 4 is 0xc3");
}

RC_GTEST_PROP(Texts, AnyBytesAreReadOrRefused, (const std::string& bytes)) { (void)parse_texts("{" + bytes, "fuzz"); }

TEST(Files, MissingFilesAndFoldersAreNamed) {
  EXPECT_EQ(read_file("/no/such/file").error().message, "/no/such/file: No such file or directory");
  EXPECT_EQ(read_file("/tmp").error().message, "/tmp is a folder");
}

TEST(LineWriter, AFullDiskIsRememberedAndDoesNotStopTheCaller) {
  auto writer = LineWriter::open("/dev/full");
  ASSERT_TRUE(writer);
  for (int i = 0; i < 3; ++i) writer->write("line");
  ASSERT_TRUE(writer->error());
  EXPECT_EQ(writer->error()->kind, ErrorKind::output_failed);
  EXPECT_NE(writer->error()->message.find("No space left"), std::string::npos);
}

TEST(Json, BytesThatAreNoTextStillGiveValidJson) {
  TokenEvent token{.index = 1,
                   .id = 2,
                   .bytes = "\xC3",
                   .author = Author::small,
                   .phase = Phase::thinking,
                   .margin = 0.5F,
                   .logprob = TokenRecord::kUnknown};
  const auto json = nlohmann::json::parse(to_line(event_to_json(token, {CueSet::build({}).value()})));
  EXPECT_EQ(json["bytes"], "c3");
  EXPECT_EQ(json["text"], "\xEF\xBF\xBD");
  EXPECT_TRUE(json["logprob"].is_null());
  EXPECT_EQ(json["author"], "small");
}

}  // namespace
}  // namespace relaygen
