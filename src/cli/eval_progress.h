// How far an evaluation is: a bar on a terminal, a line now and then anywhere else.
#pragma once

#include <chrono>

#include "cli/terminal.h"
#include "eval/runner.h"

namespace relaygen::cli {

class EvalProgress {
 public:
  explicit EvalProgress(bool quiet) : quiet_(quiet) {}
  void show(const eval::Progress& progress);
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
