// Running the program as a user would.
#pragma once

#include <string>

namespace relaygen::testing {

struct ProcessResult {
  int code = -1;  ///< exit code; 128 + n when killed by signal n
  std::string output;
  std::string error;
};

/// Runs a command line with /bin/sh. Standard input is /dev/null unless the command redirects it.
[[nodiscard]] ProcessResult run_shell(const std::string& command);

/// The same with a pseudo-terminal as standard input, output and error (all in `output`).
[[nodiscard]] ProcessResult run_in_terminal(const std::string& command);

}  // namespace relaygen::testing
