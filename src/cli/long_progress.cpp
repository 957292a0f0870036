#include "cli/long_progress.h"

#include <fmt/core.h>

#include "cli/output.h"
#include "cli/session.h"

namespace relaygen::cli {
namespace {

constexpr std::chrono::seconds kBetweenLines{30};

}  // namespace

void LongProgress::show(const std::string& what, std::size_t done, std::size_t all, double seconds_left) {
  if (quiet_ || all == 0) return;
  const std::string left = seconds_left < 0 ? "" : fmt::format("about {} left", rough_time(seconds_left));
  if (bar_.on_terminal()) {
    bar_.show(fmt::format("{}: {} of {}", what, done, all), static_cast<float>(done) / static_cast<float>(all), left);
  } else if (Clock::now() - last_line_ >= kBetweenLines) {
    last_line_ = Clock::now();
    note("{}: {} of {}{}{}\n", what, done, all, left.empty() ? "" : ", ", left);
  }
}

void LongProgress::say(const std::string& sentence) {
  bar_.clear();
  print_warning(sentence);
}

}  // namespace relaygen::cli
