// What the terminal can do, and colours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relaygen/types.h"

namespace relaygen::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

[[nodiscard]] ColorMode color_mode(std::string_view text);

/// Whether to colour what goes to a descriptor: NO_COLOR (no-color.org) and TERM=dumb are respected in automatic mode.
[[nodiscard]] bool use_color(ColorMode mode, int descriptor);

/// The escape sequence of an author; empty for the prompt.
[[nodiscard]] std::string_view color_of(Author author);
inline constexpr std::string_view kResetColor = "\x1b[0m";
inline constexpr std::string_view kDim = "\x1b[2m";

/// Colours a text where asked to.
[[nodiscard]] std::string paint(std::string_view text, std::string_view color, bool enabled);

/// A one-line progress bar on standard error, shown only on a terminal and only after a moment.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// `after` stands behind the percentage, for example the time left.
  void show(std::string_view what, float fraction, std::string_view after = {});
  void clear();
  [[nodiscard]] bool on_terminal() const noexcept { return terminal_; }

 private:
  bool terminal_;
  bool shown_ = false;
  double start_;
  int last_percent_ = -1;
  std::string last_after_;
};

/// "40 s", "12 min", "3.5 h": a time for people, roughly.
[[nodiscard]] std::string rough_time(double seconds);

}  // namespace relaygen::cli
