// Small text helpers of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace relaygen::engine {

/// The text in double quotes, control bytes and malformed bytes escaped, cut to about `longest` bytes: for messages.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 40);

/// A path in double quotes, whole.
[[nodiscard]] std::string printable_path(std::string_view path);

/// "512 bytes", "3.2 MiB", "9.1 GiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

/// Without white space at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

}  // namespace relaygen::engine
