#include "engine/llama/log.h"

#include <llama.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "engine/llama/text.h"

namespace relaygen::engine {

// llama.cpp has one log callback a process and calls it with pieces of lines, from any thread. The router assembles
// whole lines and hands them on outside its lock, so that a sink may itself call into llama.cpp.
struct LogRouter {
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;
  std::vector<ErrorCapture*> captures;
  std::string pending;  // the beginning of a line that is not ended yet
  int pending_level = 2;

  static LogRouter& instance() {
    static LogRouter* router = new LogRouter;  // never destroyed: llama.cpp may log while the process ends
    return *router;
  }

  static void callback(ggml_log_level level, const char* text, void* user) noexcept {
    try {
      static_cast<LogRouter*>(user)->receive(level, text);
    } catch (...) {  // a message is lost; there is nobody to tell
    }
  }

  void receive(ggml_log_level level, std::string_view text) {
    std::vector<std::pair<int, std::string>> lines;
    std::shared_ptr<const LogSink> target;
    {
      const std::lock_guard lock(mutex);
      if (level != GGML_LOG_LEVEL_CONT) pending_level = to_level(level);
      pending += text;
      for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
        if (end > 0) lines.emplace_back(pending_level, pending.substr(0, end));
      }
      for (const auto& [line_level, line] : lines) {
        if (line_level < 4) continue;
        for (ErrorCapture* capture : captures) capture->lines_.push_back(line);
      }
      target = sink;
    }
    if (!target || !*target) return;
    for (const auto& [line_level, line] : lines) (*target)(line_level, line);
  }

  static int to_level(ggml_log_level level) noexcept {
    switch (level) {
      case GGML_LOG_LEVEL_DEBUG: return 1;
      case GGML_LOG_LEVEL_WARN: return 3;
      case GGML_LOG_LEVEL_ERROR: return 4;
      default: return 2;
    }
  }
};

void take_over_log() {
  static std::once_flag once;
  std::call_once(once, [] { llama_log_set(&LogRouter::callback, &LogRouter::instance()); });
}

void set_log_sink(LogSink sink) {
  take_over_log();
  auto shared = std::make_shared<const LogSink>(std::move(sink));
  LogRouter& router = LogRouter::instance();
  const std::lock_guard lock(router.mutex);
  router.sink.swap(shared);
}

void log_line(int level, std::string_view line) {
  LogRouter& router = LogRouter::instance();
  std::shared_ptr<const LogSink> target;
  {
    const std::lock_guard lock(router.mutex);
    target = router.sink;
  }
  if (target && *target) (*target)(level, line);
}

ErrorCapture::ErrorCapture() {
  LogRouter& router = LogRouter::instance();
  const std::lock_guard lock(router.mutex);
  router.captures.push_back(this);
}

ErrorCapture::~ErrorCapture() {
  LogRouter& router = LogRouter::instance();
  const std::lock_guard lock(router.mutex);
  std::erase(router.captures, this);
}

std::string ErrorCapture::reason() const {
  LogRouter& router = LogRouter::instance();
  const std::lock_guard lock(router.mutex);
  // "llama_model_load: error loading model: unknown model architecture: 'x'" is the line that explains; the later
  // "failed to load model" only repeats that something failed.
  constexpr std::string_view kTelling = "error loading model: ";
  std::string_view best;
  for (const std::string& line : lines_) {
    if (const std::size_t at = line.find(kTelling); at != std::string::npos) {
      best = std::string_view(line).substr(at + kTelling.size());
      break;
    }
  }
  if (best.empty() && !lines_.empty()) {
    best = lines_.front();
    const std::size_t colon = best.find(": ");
    if (colon != std::string_view::npos && best.substr(0, colon).find(' ') == std::string_view::npos) {
      best.remove_prefix(colon + 2);  // the function's name
    }
  }
  return std::string(trimmed(best));
}

}  // namespace relaygen::engine
