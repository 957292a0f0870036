#include "eval/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace relaygen::eval {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // of a reply

using Clock = std::chrono::steady_clock;

struct Exchange {
  HttpReply reply;
  const std::atomic<bool>* cancel = nullptr;
  bool too_large = false;
  curl_off_t bytes = -1;  // in both directions, at the last progress
  Clock::time_point progress = Clock::now();
  double silence_s = 0;
  bool silent = false;
};

std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* data) {
  auto& exchange = *static_cast<Exchange*>(data);
  try {
    if (exchange.reply.body.size() + size * count > kMostBytes) {
      exchange.too_large = true;
      return 0;
    }
    exchange.reply.body.append(bytes, size * count);
    return size * count;
  } catch (const std::exception&) {
    return 0;  // libcurl ends the transfer
  }
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<double> parse_retry_after(std::string value) {
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(std::min(value.size(), value.find_last_not_of(" \t\r\n") + 1));
  if (value.empty()) return std::nullopt;
  char* end = nullptr;
  const double seconds = std::strtod(value.c_str(), &end);
  if (*end == '\0') return seconds >= 0 ? std::optional(seconds) : std::nullopt;
  const std::time_t date = curl_getdate(value.c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::max(0.0, std::difftime(date, std::time(nullptr)));
}

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* data) {
  auto& exchange = *static_cast<Exchange*>(data);
  try {
    constexpr std::string_view kName = "retry-after:";
    const std::string_view line(bytes, size * count);
    if (line.size() > kName.size() && lower(line.substr(0, kName.size())) == kName)
      exchange.reply.retry_after_s = parse_retry_after(std::string(line.substr(kName.size())));
    return size * count;
  } catch (const std::exception&) {
    return 0;
  }
}

// libcurl's own limit on speed takes a mean over some seconds; this one counts from the last byte.
int watch(void* data, curl_off_t, curl_off_t received, curl_off_t, curl_off_t sent) {
  auto& exchange = *static_cast<Exchange*>(data);
  const auto now = Clock::now();
  if (received + sent != exchange.bytes) {
    exchange.bytes = received + sent;
    exchange.progress = now;
  }
  exchange.silent = std::chrono::duration<double>(now - exchange.progress).count() > exchange.silence_s;
  return exchange.silent || exchange.cancel->load() ? 1 : 0;
}

HttpFailure kind_of(CURLcode code, bool connected) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return HttpFailure::unreachable;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return HttpFailure::broken;
    case CURLE_OPERATION_TIMEDOUT: return connected ? HttpFailure::silent : HttpFailure::unreachable;
    case CURLE_ABORTED_BY_CALLBACK: return HttpFailure::cancelled;
    default: return HttpFailure::unusable;
  }
}

}  // namespace

class HttpClient::Impl {
 public:
  explicit Impl(CURL* handle) : handle_(handle, curl_easy_cleanup) {}

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  tl::expected<HttpReply, HttpError> post(const std::string& url, const std::string& json,
                                          const std::vector<std::string>& headers, const HttpLimits& limits,
                                          const std::atomic<bool>& cancel) {
    Exchange exchange;
    exchange.cancel = &cancel;
    exchange.silence_s = limits.silence_s;
    curl_slist* list = nullptr;
    const auto add = [&](const std::string& header) {
      if (auto* longer = curl_slist_append(list, header.c_str())) list = longer;
    };
    add("Content-Type: application/json");
    add("Expect:");  // no waiting for "100 Continue"
    for (const auto& header : headers) add(header);
    const std::unique_ptr<curl_slist, void (*)(curl_slist*)> owner(list, curl_slist_free_all);
    std::array<char, CURL_ERROR_SIZE> reason{};

    curl_easy_reset(handle_.get());  // keeps the connections
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, json.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(json.size()));
    set(CURLOPT_HTTPHEADER, list);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_USERAGENT, "relaygen");
    set(CURLOPT_ERRORBUFFER, reason.data());
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, &exchange);
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, &exchange);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, watch);
    set(CURLOPT_XFERINFODATA, &exchange);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_s * 1e3));
    if (limits.total_s > 0) set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(limits.total_s * 1e3)));

    const CURLcode code = curl_easy_perform(handle_.get());
    if (code != CURLE_OK) {
      if (exchange.silent && !cancel.load()) return tl::unexpected(HttpError{HttpFailure::silent, "no bytes came"});
      if (exchange.too_large)
        return tl::unexpected(HttpError{HttpFailure::unusable, "the reply is larger than 64 MiB"});
      curl_off_t connected_after = 0;  // microseconds; 0: there was no connection
      curl_easy_getinfo(handle_.get(), CURLINFO_PRETRANSFER_TIME_T, &connected_after);
      return tl::unexpected(
          HttpError{kind_of(code, connected_after > 0), reason[0] != '\0' ? reason.data() : curl_easy_strerror(code)});
    }
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &exchange.reply.status);
    curl_easy_getinfo(handle_.get(), CURLINFO_TOTAL_TIME, &exchange.reply.seconds);
    return std::move(exchange.reply);
  }

 private:
  std::unique_ptr<CURL, void (*)(CURL*)> handle_;
};

HttpClient::HttpClient(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::create() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* handle = started == CURLE_OK ? curl_easy_init() : nullptr;
  if (handle == nullptr) return fail(ErrorKind::internal, "libcurl could not be started");
  return HttpClient(std::make_unique<Impl>(handle));
}

tl::expected<HttpReply, HttpError> HttpClient::post(const std::string& url, const std::string& json,
                                                    const std::vector<std::string>& headers, const HttpLimits& limits,
                                                    const std::atomic<bool>& cancel) {
  return impl_->post(url, json, headers, limits, cancel);
}

}  // namespace relaygen::eval
