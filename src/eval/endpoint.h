// A row of the table that is written by an OpenAI-compatible server: POST /v1/chat/completions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "eval/http.h"
#include "eval/runner.h"

namespace relaygen::eval {

struct EndpointOptions {
  std::string url{};    ///< of the chat completions, as endpoint_url() gives it
  std::string model{};  ///< empty: the server's only one
  std::string key{};    ///< sent as a bearer token; never stored, never printed
  HttpLimits limits{};
  std::uint32_t attempts = 4;  ///< for one output in one run
  double first_wait_s = 1;     ///< before the second attempt; doubles with each, up to a minute
};

/// What is asked for besides the prompt.
struct EndpointRequest {
  std::string system{};
  SamplingOptions sampling{};
  std::int32_t max_tokens = -1;
  std::vector<std::string> stop{};
  bool no_thinking = false;
};

/// NAME=URL or URL (then the name is "endpoint"). A URL without a path means the server's /v1/chat/completions.
/// Errors: usage (no http URL, a user name or password in it).
struct NamedUrl {
  std::string name{};
  std::string url{};
};
[[nodiscard]] Result<NamedUrl> parse_endpoint(std::string_view text);

/// The URL without its query, which may hold a secret: for the database and for people.
[[nodiscard]] std::string shown_url(const std::string& url);

/// The body of a request. What is at its neutral value is left out, since not every server knows every field.
[[nodiscard]] std::string request_body(const EndpointOptions& options, const EndpointRequest& request,
                                       const std::string& prompt, std::uint64_t seed);

/// An output from the body of a reply with status 200. Errors: one sentence of what is wrong with it.
[[nodiscard]] tl::expected<Output, std::string> parse_reply(const std::string& body);

/// Errors of a request are retried where that may help (no connection, a broken one, 408, 409, 425, 429, 5xx), after
/// the time that the server asks for or else after a doubling one with jitter.
[[nodiscard]] Result<std::unique_ptr<Writer>> make_endpoint_writer(EndpointOptions options, EndpointRequest request);

}  // namespace relaygen::eval
