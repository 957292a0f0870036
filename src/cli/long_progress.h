// How far something long is: a bar on a terminal, a line now and then anywhere else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/terminal.h"

namespace relaygen::cli {

class LongProgress {
 public:
  explicit LongProgress(bool quiet) : quiet_(quiet) {}
  /// `what` says what is done of how many: "writing traces", "outputs". Negative seconds: not known.
  void show(const std::string& what, std::size_t done, std::size_t all, double seconds_left);
  /// A sentence that does not wait for the end.
  void say(const std::string& sentence);
  void clear() { bar_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_;
  ProgressBar bar_;
  Clock::time_point last_line_ = Clock::now();
};

}  // namespace relaygen::cli
