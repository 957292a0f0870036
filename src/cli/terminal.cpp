#include "cli/terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/output.h"

namespace relaygen::cli {
namespace {

constexpr double kPatience = 0.4;  // seconds before a progress bar appears

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

ColorMode color_mode(std::string_view text) {
  if (text == "always") return ColorMode::always;
  return text == "never" ? ColorMode::never : ColorMode::automatic;
}

bool use_color(ColorMode mode, int descriptor) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::strcmp(term, "dumb") == 0) return false;
  return ::isatty(descriptor) == 1;
}

std::string_view color_of(Author author) {
  switch (author) {
    case Author::prompt: return "";
    case Author::large: return "\x1b[38;5;75m";    // blue
    case Author::small: return "\x1b[38;5;215m";   // orange
    case Author::forced: return "\x1b[38;5;245m";  // grey
  }
  return "";
}

std::string paint(std::string_view text, std::string_view color, bool enabled) {
  if (!enabled || color.empty()) return std::string(text);
  return fmt::format("{}{}{}", color, text, kResetColor);
}

ProgressBar::ProgressBar() : terminal_(::isatty(STDERR_FILENO) == 1), start_(now()) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::show(std::string_view what, float fraction, std::string_view after) {
  const int percent = static_cast<int>(fraction * 100);
  if (!terminal_ || (percent == last_percent_ && after == last_after_) || now() - start_ < kPatience) return;
  last_percent_ = percent;
  last_after_ = after;
  constexpr int kWidth = 30;
  const int filled = percent * kWidth / 100;
  note("\r{} [{}{}] {:3}%{}{}{}", what, std::string(static_cast<std::size_t>(filled), '='),
       std::string(static_cast<std::size_t>(kWidth - filled), ' '), percent, after.empty() ? "" : " ", after,
       after.empty() ? "" : "\x1b[K");
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  note("\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
  last_percent_ = -1;
}

std::string rough_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace relaygen::cli
