// Lines to a file, with the first failure remembered. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "relaygen/error.h"

namespace relaygen {

/// Writes each line through to the file at once, so that nothing is lost when the process is killed. After the first
/// failure (a full disk) it writes no more; the caller goes on and asks for error() in the end. Not thread-safe.
class LineWriter {
 public:
  /// Creates or empties the file. Errors: output_failed with the system's reason.
  [[nodiscard]] static Result<LineWriter> open(const std::string& path);
  LineWriter(LineWriter&& other) noexcept;
  LineWriter& operator=(LineWriter&&) = delete;
  ~LineWriter();

  void write(std::string_view line);
  [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

 private:
  LineWriter(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
  std::optional<Error> error_;
};

/// A whole file at once. Errors: output_failed.
[[nodiscard]] Status write_file(const std::string& path, std::string_view content);

}  // namespace relaygen
