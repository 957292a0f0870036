#include "eval/endpoint.h"

#include <gtest/gtest.h>

#include "support/http_server.h"

namespace relaygen::eval {
namespace {

using testing::chat_completion;
using testing::HttpAnswer;
using testing::HttpServer;

const StoredProblem kProblem{{.id = "p", .question = "What?", .expected = "42"}, "What is 40 + 2?"};

// One output from a server that behaves as the handler says; a failed attempt waits for hardly anything.
Written ask(const HttpServer& server, EndpointOptions options = {}, const EndpointRequest& request = {}) {
  static const std::atomic<bool> never{false};
  options.url = parse_endpoint(server.url())->url;
  options.first_wait_s = 0.001;
  auto writer = make_endpoint_writer(options, request);
  return (*writer)->write(kProblem, 12345, never);
}

Written ask_for(HttpAnswer answer, EndpointOptions options = {}) {
  options.attempts = 1;
  const HttpServer server([&](int, const std::string&) { return answer; });
  return ask(server, options);
}

void expect_error(const Written& written, const std::string& part) {
  ASSERT_TRUE(written.error) << "expected: " << part;
  EXPECT_NE(written.error->message.find(part), std::string::npos) << written.error->message;
  EXPECT_EQ(written.error->message.find('\n'), std::string::npos);
}

// ---------------------------------------------------------------- replies

TEST(Endpoint, AGoodReplyBecomesAnOutput) {
  const auto written = ask_for({.body = chat_completion("<think>\nlong\n</think>\n\n\\boxed{42}", "stop", 33)});
  ASSERT_TRUE(written.output) << written.error->message;
  EXPECT_EQ(written.output->answer, "\\boxed{42}");
  EXPECT_EQ(written.output->tokens.generated, 33u);
  EXPECT_EQ(written.output->tokens.prompt, 5u);
  EXPECT_TRUE(written.output->finished());
  EXPECT_GT(written.output->time.total, 0);
  EXPECT_FALSE(written.output->tokens.authors);
}

TEST(Endpoint, ThinkingIsUnderstoodInEachForm) {
  const auto answer = [](const std::string& body) {
    const auto output = parse_reply(body);
    return output ? output->answer : output.error();
  };
  EXPECT_EQ(answer(R"({"choices":[{"message":{"reasoning_content":"hm","content":"42"},"finish_reason":"stop"}]})"),
            "42");
  EXPECT_EQ(answer(R"({"choices":[{"message":{"reasoning":"hm","content":" 42 "}}]})"), "42");
  EXPECT_EQ(answer(R"({"choices":[{"message":{"content":"hm</think>42"}}]})"), "42");  // the template opened the tag
  EXPECT_EQ(answer(R"({"choices":[{"message":{"content":"<think>hm"},"finish_reason":"length"}]})"), "");
  EXPECT_EQ(answer(R"({"choices":[{"message":{"content":[{"type":"text","text":"4"},{"type":"text","text":"2"}]}}]})"),
            "42");
  EXPECT_EQ(answer(R"({"choices":[{"message":{"reasoning_content":"hm","content":null},"finish_reason":"length"}]})"),
            "");
  EXPECT_FALSE(
      parse_reply(R"({"choices":[{"message":{"content":"<think>hm"},"finish_reason":"length"}]})")->finished());
  EXPECT_EQ(
      parse_reply(
          R"({"choices":[{"message":{"content":"x"}}],"usage":{"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":7}}})")
          ->tokens.phases->answer,
      2u);
}

TEST(Endpoint, GarbageIsAnError) {
  expect_error(ask_for({.body = "hello"}), "is no JSON");
  expect_error(ask_for({.body = ""}), "is empty");
  expect_error(ask_for({.body = "<html><body>Welcome</body></html>"}), "is HTML");
  expect_error(ask_for({.body = "[]"}), "holds no choices");
  expect_error(ask_for({.body = R"({"choices": []})"}), "holds no choices");
  expect_error(ask_for({.body = R"({"choices": [7]})"}), "holds no message");
  expect_error(ask_for({.body = R"({"choices": [{"message": {}}]})"}), "without text");
  expect_error(ask_for({.body = R"({"error": {"message": "out of\nluck"}})"}), "is an error: out of");
}

TEST(Endpoint, AMessageWithoutTextIsAnError) {
  for (const char* content : {"42", "null", "{\"a\": 1}", "[1, 2]", "[]", "true"}) {
    const auto reply = parse_reply(std::string(R"({"choices": [{"message": {"content": )") + content + "}}]}");
    ASSERT_FALSE(reply) << content;
    EXPECT_NE(reply.error().find("without text"), std::string::npos) << reply.error();
  }
  EXPECT_TRUE(parse_reply(R"({"choices": [{"message": {"content": null, "reasoning_content": "Hm."}}]})"));
  EXPECT_TRUE(parse_reply(R"({"choices": [{"message": {"content": ""}}]})"));
}

TEST(Endpoint, StatusesAreToldWithTheServersWords) {
  expect_error(ask_for({.status = 404, .body = R"({"error": {"message": "no model 'x'"}})"}),
               "404 (no such path, or no such model): no model 'x'");
  expect_error(ask_for({.status = 401, .body = R"({"error": "who are you?"})"}), "RELAYGEN_API_KEY");
  expect_error(ask_for({.status = 500, .body = "<h1>\nbroken</h1>"}), "500: <h1> broken");
  expect_error(ask_for({.status = 302, .body = "", .headers = {"Location: http://127.0.0.1:1/"}}), "redirect");
}

TEST(Endpoint, AServerThatDiesOrHangsIsAnError) {
  expect_error(ask_for({.body = chat_completion("42"), .dies = true}), "ended the connection");
  expect_error(ask_for({.hangs = true}, {.limits = {.silence_s = 0.2}}), "sent nothing for 0.2 s");
  expect_error(ask_for({.hangs = true}, {.limits = {.total_s = 0.2}}), "took too long in all");
  std::string url;
  {
    url = HttpServer([](int, const std::string&) { return HttpAnswer{}; }).url();
  }
  static const std::atomic<bool> never{false};
  auto writer = make_endpoint_writer({.url = url, .attempts = 2, .first_wait_s = 0.001}, {});
  const auto written = (*writer)->write(kProblem, 1, never);
  expect_error(written, "cannot be reached");
  EXPECT_EQ(written.attempts, 2u);
}

// ---------------------------------------------------------------- attempts

TEST(Endpoint, WhatMayPassIsTriedAgain) {
  for (const auto& first :
       {HttpAnswer{.status = 429, .headers = {"Retry-After: 0"}}, HttpAnswer{.status = 500}, HttpAnswer{.status = 503},
        HttpAnswer{.body = "garbage"}, HttpAnswer{.body = chat_completion("42"), .dies = true}}) {
    const HttpServer server(
        [&](int number, const std::string&) { return number < 2 ? first : HttpAnswer{.body = chat_completion("42")}; });
    const auto written = ask(server);
    ASSERT_TRUE(written.output) << written.error->message;
    EXPECT_EQ(written.attempts, 3u);
  }
}

TEST(Endpoint, WhatWillNotPassIsNotTriedAgain) {
  for (const int status : {400, 401, 404, 422}) {
    const HttpServer server([&](int, const std::string&) { return HttpAnswer{.status = status}; });
    EXPECT_EQ(ask(server).attempts, 1u);
    EXPECT_EQ(server.requests(), 1);
  }
}

TEST(Endpoint, TheServersWishToWaitIsHeard) {
  const auto past = HttpAnswer{.status = 429, .headers = {"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"}};
  const auto soon = HttpAnswer{.status = 503, .headers = {"retry-after: 0.5"}};
  const HttpServer server([&](int number, const std::string&) {
    return number == 0 ? past : number == 1 ? soon : HttpAnswer{.body = chat_completion("42")};
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(ask(server).output);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST(Endpoint, CancellingEndsARequestAndAWait) {
  std::atomic<bool> cancel{false};
  const HttpServer server([&](int, const std::string&) {
    cancel = true;
    return HttpAnswer{.status = 503, .headers = {"Retry-After: 500"}};
  });
  auto writer = make_endpoint_writer({.url = server.url()}, {});
  EXPECT_EQ((*writer)->write(kProblem, 1, cancel).error->kind, ErrorKind::cancelled);
  cancel = false;
  const HttpServer silent([&](int, const std::string&) {
    cancel = true;
    return HttpAnswer{.hangs = true};
  });
  writer = make_endpoint_writer({.url = silent.url()}, {});
  EXPECT_EQ((*writer)->write(kProblem, 1, cancel).error->kind, ErrorKind::cancelled);
}

// ---------------------------------------------------------------- requests

TEST(Endpoint, TheKeyIsSentAndNeverTold) {
  std::string seen;
  const HttpServer server([&](int, const std::string& request) {
    seen = request;
    return HttpAnswer{.status = 401, .body = R"({"error": {"message": "wrong key sk-secret given"}})"};
  });
  const auto written = ask(server, {.key = "sk-secret"});
  EXPECT_NE(seen.find("Authorization: Bearer sk-secret"), std::string::npos);
  EXPECT_EQ(written.error->message.find("sk-secret"), std::string::npos) << written.error->message;
}

TEST(Endpoint, TheRequestHoldsPromptSamplingAndSeed) {
  const EndpointRequest request{.system = "Be brief.",
                                .sampling = {.temperature = 0.6F},
                                .max_tokens = 100,
                                .stop = {"END"},
                                .no_thinking = true};
  const auto json = OrderedJson::parse(request_body({.model = "m"}, request, "What?", 5));
  EXPECT_EQ(json["model"], "m");
  EXPECT_EQ(json["messages"][0]["content"], "Be brief.");
  EXPECT_EQ(json["messages"][1], (OrderedJson{{"role", "user"}, {"content", "What?"}}));
  EXPECT_EQ(json["temperature"].dump(), "0.6");
  EXPECT_EQ(json["top_k"], 20);
  EXPECT_EQ(json["max_tokens"], 100);
  EXPECT_EQ(json["seed"], 5);
  EXPECT_EQ(json["stop"][0], "END");
  EXPECT_EQ(json["stream"], false);
  const auto greedy = OrderedJson::parse(request_body({}, {.sampling = {.temperature = 0}}, "What?", 5));
  for (const char* key : {"model", "top_k", "top_p", "seed", "max_tokens", "stop", "repeat_penalty"})
    EXPECT_FALSE(greedy.contains(key)) << key;
}

TEST(Endpoint, UrlsAreCompleted) {
  const auto url = [](const char* text) {
    const auto parsed = parse_endpoint(text);
    return parsed ? parsed->name + " " + parsed->url : parsed.error().message;
  };
  EXPECT_EQ(url("http://localhost:8080"), "endpoint http://localhost:8080/v1/chat/completions");
  EXPECT_EQ(url("a=https://x.org/v1/"), "a https://x.org/v1/chat/completions");
  EXPECT_EQ(url("a=https://x.org/api/chat/completions?version=1"), "a https://x.org/api/chat/completions?version=1");
  EXPECT_NE(url("a=ftp://x.org").find("no http"), std::string::npos);
  EXPECT_NE(url("localhost:8080").find("no http"), std::string::npos);
  EXPECT_NE(url("=http://x").find("no name"), std::string::npos);
  EXPECT_NE(url("a=http://").find("no host"), std::string::npos);
  const auto secret = url("a=http://user:hidden@x.org");
  EXPECT_NE(secret.find("holds a user name or a key"), std::string::npos);
  EXPECT_EQ(secret.find("hidden"), std::string::npos);
  EXPECT_EQ(shown_url("a=https://u:p@x.org/v1?key=secret"), "a=https://x.org/v1");
}

}  // namespace
}  // namespace relaygen::eval
