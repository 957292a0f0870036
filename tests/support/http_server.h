// A small real HTTP server on 127.0.0.1 that can also misbehave.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace relaygen::testing {

struct HttpAnswer {
  int status = 200;
  std::string body{};
  std::vector<std::string> headers{};
  bool dies = false;   ///< announces the whole body, sends half of it and closes the connection
  bool hangs = false;  ///< says nothing until the server ends
};

class HttpServer {
 public:
  /// Called in the server's thread with number and whole text of each request, one after the other.
  using Handler = std::function<HttpAnswer(int number, const std::string& request)>;
  explicit HttpServer(Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] int requests() const { return requests_; }

 private:
  void serve();
  void answer(int connection);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<int> requests_{0};
  std::vector<int> hanging_;
  std::thread thread_;
};

/// A reply of /v1/chat/completions.
[[nodiscard]] std::string chat_completion(const std::string& content, const std::string& finish_reason = "stop",
                                          int tokens = 7);

}  // namespace relaygen::testing
