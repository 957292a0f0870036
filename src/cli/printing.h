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
  /// Ends the colour and the line.
  void finish();

 private:
  bool color_;
  Author author_ = Author::prompt;
  bool at_line_start_ = true;
};

/// One line that says which colour is which author.
[[nodiscard]] std::string legend();

/// Tokens by author, handoffs, time by part, in two or three lines.
[[nodiscard]] std::string summary(const Completion& completion);

/// Flushes standard output. Errors: output_failed (a full disk).
[[nodiscard]] Status flush_output();

}  // namespace relaygen::cli
