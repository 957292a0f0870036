// Reads the header of a GGUF file without trusting a byte of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "relaygen/error.h"

namespace relaygen::engine {

/// What the header of one GGUF file says.
struct GgufHeader {
  std::map<std::string, std::string, std::less<>> texts;      ///< string values by key
  std::map<std::string, std::int64_t, std::less<>> integers;  ///< integer and bool values by key
  std::uint64_t tensors = 0;
  std::uint64_t weight_bytes = 0;  ///< of all tensors, without padding
  std::uint64_t file_bytes = 0;

  [[nodiscard]] std::string text(std::string_view key) const;  ///< empty if absent
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
};

/// Reads the header and checks that every tensor lies within the file. Never allocates more than the file's own size
/// justifies. Errors: bad_model.
[[nodiscard]] Result<GgufHeader> read_gguf_header(const std::string& path);

}  // namespace relaygen::engine
