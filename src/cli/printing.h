// A text as it comes, and what it cost.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal.h"
#include "relaygen/relay.h"

namespace relaygen::cli {

/// Writes committed tokens to standard output, coloured by author.
class StreamPrinter {
 public:
  explicit StreamPrinter(bool color) : color_(color) {}
  void operator()(const Event& event);
  /// Writes what is still missing of the text (held back for a stop string when the run broke off), ends colour and line.
  void finish(std::string_view text);

 private:
  void show(std::string_view bytes);

  bool color_;
  Author author_ = Author::prompt;
  bool at_line_start_ = true;
  std::size_t shown_ = 0;  // bytes
};

/// One line that says which colour is which author.
[[nodiscard]] std::string legend();

/// Tokens by author, handoffs, time by part, in two or three lines.
[[nodiscard]] std::string summary(const Completion& completion);

}  // namespace relaygen::cli
