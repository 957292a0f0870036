// llama.cpp's log, routed to one sink.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relaygen/pair.h"

namespace relaygen::engine {

/// Takes llama.cpp's log over (it would go to stderr). Silent until a sink is set.
void take_over_log();

/// Routes llama.cpp's messages to `sink` from now on; an empty one drops them. Thread-safe; the sink lives until it is
/// replaced, and is called on the thread that logs.
void set_log_sink(LogSink sink);

/// Sends one line of our own to the sink.
void log_line(int level, std::string_view line);

/// Collects llama.cpp's error lines while it lives, so that a failed call can say why. Captures may not overlap in
/// time on several threads: what one sees is everything logged meanwhile.
class ErrorCapture {
 public:
  ErrorCapture();
  ~ErrorCapture();
  ErrorCapture(const ErrorCapture&) = delete;
  ErrorCapture& operator=(const ErrorCapture&) = delete;

  /// The most telling line so far, without function names; empty if nothing was logged.
  [[nodiscard]] std::string reason() const;

 private:
  friend struct LogRouter;
  std::vector<std::string> lines_;
};

}  // namespace relaygen::engine
