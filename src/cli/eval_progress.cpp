#include "cli/eval_progress.h"

#include <fmt/core.h>

#include "cli/output.h"
#include "cli/session.h"

namespace relaygen::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30};

}  // namespace

void EvalProgress::show(const eval::Progress& progress) {
  if (quiet_ || progress.all == 0) return;
  const std::string left =
      progress.seconds_left < 0 ? "" : fmt::format("about {} left", rough_time(progress.seconds_left));
  if (bar_.on_terminal()) {
    bar_.show(fmt::format("{} of {} outputs", progress.done, progress.all),
              static_cast<float>(progress.done) / static_cast<float>(progress.all), left);
  } else if (Clock::now() - last_line_ >= kBetweenLines) {
    last_line_ = Clock::now();
    note("{} of {} outputs{}{}\n", progress.done, progress.all, left.empty() ? "" : ", ", left);
  }
}

void EvalProgress::say(const std::string& sentence) {
  bar_.clear();
  print_warning(sentence);
}

}  // namespace relaygen::cli
