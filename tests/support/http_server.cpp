#include "support/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace relaygen::testing {
namespace {

// Headers and as much of a body as they announce.
std::string read_request(int connection) {
  std::string request;
  std::array<char, 4096> buffer{};
  std::size_t wanted = std::string::npos;
  while (request.size() < wanted) {
    const auto got = ::recv(connection, buffer.data(), buffer.size(), 0);
    if (got <= 0) return request;
    request.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = request.find("\r\n\r\n");
    if (wanted != std::string::npos || end == std::string::npos) continue;
    const auto length = request.find("Content-Length: ");
    wanted = end + 4 + (length < end ? std::strtoul(request.c_str() + length + 16, nullptr, 10) : 0);
  }
  return request;
}

void send_all(int connection, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto sent = ::send(connection, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return;
    done += static_cast<std::size_t>(sent);
  }
}

}  // namespace

HttpServer::HttpServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, generic, &size) != 0)
    std::abort();
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

HttpServer::~HttpServer() {
  ends_ = true;
  thread_.join();
  for (const int connection : hanging_) ::close(connection);
  ::close(listener_);
}

std::string HttpServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void HttpServer::serve() {
  while (!ends_) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) answer(connection);
  }
}

void HttpServer::answer(int connection) {
  const std::string request = read_request(connection);
  if (request.empty()) {
    ::close(connection);
    return;
  }
  const HttpAnswer answer = handler_(requests_++, request);
  if (answer.hangs) {
    hanging_.push_back(connection);
    return;
  }
  std::string reply = "HTTP/1.1 " + std::to_string(answer.status) + " Whatever\r\nConnection: close\r\n";
  for (const auto& header : answer.headers) reply += header + "\r\n";
  reply += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
  reply += answer.dies ? answer.body.substr(0, answer.body.size() / 2) : answer.body;
  send_all(connection, reply);
  ::close(connection);
}

std::string chat_completion(const std::string& content, const std::string& finish_reason, int tokens) {
  return nlohmann::json{
      {"choices", {{{"message", {{"role", "assistant"}, {"content", content}}}, {"finish_reason", finish_reason}}}},
      {"usage", {{"prompt_tokens", 5}, {"completion_tokens", tokens}}}}
      .dump();
}

}  // namespace relaygen::testing
