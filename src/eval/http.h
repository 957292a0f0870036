// One HTTP request at a time. Internal; http.cpp is the only file that knows libcurl.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relaygen/error.h"

namespace relaygen::eval {

struct HttpLimits {
  double connect_s = 10;
  double silence_s = 600;  ///< without a byte in either direction
  double total_s = 0;      ///< 0: none
};

struct HttpReply {
  long status = 0;
  std::string body{};
  std::optional<double> retry_after_s{};  ///< of the Retry-After header, as seconds or as a date
  double seconds = 0;                     ///< from the start of the request to the last byte
};

/// Why there is no reply.
enum class HttpFailure : std::uint8_t {
  unreachable,  ///< no such host, connection refused, no connection in time
  broken,       ///< the connection ended before the reply did
  silent,       ///< no progress for too long, or the total time is used up
  cancelled,
  unusable,  ///< a bad URL, TLS that cannot be trusted, a reply that is too large
};

struct HttpError {
  HttpFailure kind = HttpFailure::unusable;
  std::string reason{};  ///< libcurl's words
};

/// Sends requests over one connection, which is kept open between them. Not thread-safe.
class HttpClient {
 public:
  [[nodiscard]] static Result<HttpClient> create();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// POSTs JSON. An HTTP status of any kind is a reply. Redirects are not followed, so that a key goes nowhere else.
  [[nodiscard]] tl::expected<HttpReply, HttpError> post(const std::string& url, const std::string& json,
                                                        const std::vector<std::string>& headers,
                                                        const HttpLimits& limits, const std::atomic<bool>& cancel);

 private:
  class Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace relaygen::eval
