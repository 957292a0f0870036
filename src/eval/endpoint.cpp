#include "eval/endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

namespace relaygen::eval {
namespace {

constexpr double kLongestWait = 60;         // seconds of our own choice
constexpr double kLongestRetryAfter = 600;  // seconds of the server's

bool worth_retrying(long status) {
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

bool worth_retrying(HttpFailure failure) {
  return failure == HttpFailure::unreachable || failure == HttpFailure::broken;
}

// The server's own words in an error reply, short and on one line.
std::string words_of(const std::string& body) {
  std::string text = body;
  const auto json = OrderedJson::parse(body, nullptr, false);
  if (json.is_object()) {
    const OrderedJson& error = json.contains("error") ? json["error"] : json;
    const OrderedJson& message = error.is_object() && error.contains("message") ? error["message"] : error;
    text = message.is_string() ? message.get<std::string>() : to_line(message);
  }
  constexpr std::size_t kMost = 200;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string status_sentence(long status, const std::string& body) {
  const auto words = words_of(body);
  const char* meaning = status == 401 || status == 403  ? " (the key in RELAYGEN_API_KEY is missing or refused)"
                        : status == 404                 ? " (no such path, or no such model)"
                        : status == 429                 ? " (too many requests)"
                        : status >= 300 && status < 400 ? " (a redirect, which is not followed)"
                                                        : "";
  return fmt::format("the server answered {}{}{}{}", status, meaning, words.empty() ? "" : ": ", words);
}

std::string failure_sentence(const HttpError& error, const HttpLimits& limits) {
  switch (error.kind) {
    case HttpFailure::unreachable: return "the server cannot be reached: " + error.reason;
    case HttpFailure::broken: return "the server ended the connection in the middle: " + error.reason;
    case HttpFailure::silent:
      return fmt::format("the server sent nothing for {:g} s (--endpoint-timeout) or took too long in all: {}",
                         limits.silence_s, error.reason);
    case HttpFailure::cancelled: return "interrupted";
    case HttpFailure::unusable: break;
  }
  return "the request failed: " + error.reason;
}

class EndpointWriter : public Writer {
 public:
  EndpointWriter(EndpointOptions options, EndpointRequest request, HttpClient client)
      : options_(std::move(options)), request_(std::move(request)), client_(std::move(client)) {}

  Written write(const StoredProblem& problem, std::uint64_t seed, const std::atomic<bool>& cancel) override try {
    const std::string body = request_body(options_, request_, problem.prompt, seed);
    std::vector<std::string> headers;
    if (!options_.key.empty()) headers.push_back("Authorization: Bearer " + options_.key);
    Written written;
    for (written.attempts = 1;; ++written.attempts) {
      bool retry = false;
      double wait = 0;
      std::string sentence;
      const auto reply = client_.post(options_.url, body, headers, options_.limits, cancel);
      if (!reply) {
        if (reply.error().kind == HttpFailure::cancelled) return interrupted(written.attempts);
        sentence = failure_sentence(reply.error(), options_.limits);
        retry = worth_retrying(reply.error().kind);
        written.server_failed = true;
      } else if (reply->status != 200) {
        sentence = status_sentence(reply->status, reply->body);
        retry = worth_retrying(reply->status);
        written.server_failed =
            reply->status != 400 && reply->status != 413 && reply->status != 422;  // not the prompt's
        wait = std::min(reply->retry_after_s.value_or(0), kLongestRetryAfter);
      } else if (auto output = parse_reply(reply->body)) {
        output->time.total = reply->seconds;
        written.output = std::move(*output);
        written.server_failed = false;
        return written;
      } else {
        sentence = output.error();
        retry = true;
        written.server_failed = true;
      }
      if (!retry || written.attempts >= options_.attempts) {
        written.error = Error{ErrorKind::bad_input, for_people(sentence), ""};
        return written;
      }
      if (!sleep(std::max(wait, backoff(written.attempts)), cancel)) return interrupted(written.attempts);
    }
  } catch (const std::bad_alloc&) {
    return {.error = Error{ErrorKind::out_of_memory, "an allocation failed", "free memory"}};
  }

 private:
  static Written interrupted(std::uint32_t attempts) {
    return {.error = Error{ErrorKind::cancelled, "interrupted", ""}, .attempts = attempts};
  }

  // Half to all of a doubling time, so that clients which failed together do not come back together.
  double backoff(std::uint32_t attempt) {
    const double longest = std::min(kLongestWait, options_.first_wait_s * std::pow(2.0, attempt - 1));
    return std::uniform_real_distribution<double>(longest / 2, longest)(random_);
  }

  static bool sleep(double seconds, const std::atomic<bool>& cancel) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    while (Clock::now() < end) {
      if (cancel.load()) return false;
      std::this_thread::sleep_for(std::min<Clock::duration>(end - Clock::now(), std::chrono::milliseconds(50)));
    }
    return !cancel.load();
  }

  // On one line, and without the key, which some servers repeat when they refuse it.
  [[nodiscard]] std::string for_people(std::string text) const {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    if (options_.key.empty()) return text;
    for (auto at = text.find(options_.key); at != std::string::npos; at = text.find(options_.key, at))
      text.replace(at, options_.key.size(), "***");
    return text;
  }

  EndpointOptions options_;
  EndpointRequest request_;
  HttpClient client_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

Result<NamedUrl> parse_endpoint(std::string_view text) {
  const auto scheme = text.find("://");
  const auto equals = text.find('=');
  NamedUrl result{.name = "endpoint", .url = std::string(text)};
  if (equals != std::string_view::npos && (scheme == std::string_view::npos || equals < scheme)) {
    result.name = text.substr(0, equals);
    result.url = text.substr(equals + 1);
  }
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::usage, fmt::format("the endpoint '{}' {}", shown_url(std::string(text)), what),
                "give it as NAME=URL, for example server=http://localhost:8080");
  };
  if (result.name.empty()) return bad("has no name");
  const bool http = result.url.starts_with("http://");
  if (!http && !result.url.starts_with("https://")) return bad("is no http or https URL");
  const std::size_t host = http ? 7 : 8;
  const auto path = std::min(result.url.find_first_of("/?#", host), result.url.size());
  if (path == host) return bad("names no host");
  if (result.url.find('@', host) < path) {
    return fail(ErrorKind::usage, fmt::format("the URL of the endpoint '{}' holds a user name or a key", result.name),
                "take it out, and put the key into the environment variable RELAYGEN_API_KEY");
  }
  const auto query = std::min(result.url.find_first_of("?#", path), result.url.size());
  std::string place = result.url.substr(path, query - path);
  while (place.ends_with('/')) place.pop_back();
  if (!place.ends_with("/chat/completions"))
    place += place.ends_with("/v1") ? "/chat/completions" : "/v1/chat/completions";
  result.url = result.url.substr(0, path) + place + result.url.substr(query);
  return result;
}

std::string shown_url(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto host = scheme + 3;
  const auto path = std::min(url.find_first_of("/?#", host), url.size());
  const auto user = url.rfind('@', path);
  const std::string rest = user != std::string::npos && user >= host ? url.substr(user + 1) : url.substr(host);
  return url.substr(0, host) + rest.substr(0, rest.find_first_of("?#"));
}

Result<std::unique_ptr<Writer>> make_endpoint_writer(EndpointOptions options, EndpointRequest request) {
  auto client = HttpClient::create();
  if (!client) return tl::unexpected(client.error());
  return std::unique_ptr<Writer>(
      std::make_unique<EndpointWriter>(std::move(options), std::move(request), std::move(*client)));
}

}  // namespace relaygen::eval
