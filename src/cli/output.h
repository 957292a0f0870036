// Writing to the two standard streams. Nothing here throws for a stream that cannot be written.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "relaygen/error.h"

namespace relaygen::cli {

/// Writes bytes to a stream. Once standard output failed (a full disk, a closed pipe) it remembers the reason for
/// flush_output() and asks whatever runs to stop.
void write_bytes(std::FILE* stream, std::string_view bytes);

/// Formatted text to standard output (what the user asked for) or standard error (everything else).
template <typename... Arguments>
void out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_bytes(stdout, fmt::format(format, std::forward<Arguments>(arguments)...));
}
template <typename... Arguments>
void note(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  write_bytes(stderr, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Flushes standard output. Errors: output_failed with the system's reason, also for an earlier failure.
[[nodiscard]] Status flush_output();

/// Gives the standard streams that were closed by the caller a place to go, so that no file takes their numbers.
void open_standard_streams();

}  // namespace relaygen::cli
