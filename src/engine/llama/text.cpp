#include "engine/llama/text.h"

#include <fmt/format.h>

#include "core/unicode.h"

namespace relaygen::engine {
namespace {

/// Length of the UTF-8 character at the start of `text`, 0 if there is none.
std::size_t character_length(std::string_view text) noexcept {
  const unicode::Decoded first = unicode::decode(text);
  return first.character == unicode::kInvalid ? 0 : first.size;
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string out = "\"";
  while (!text.empty()) {
    if (out.size() > longest) return out + "...\"";
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (first == '\n') {
      out += "\\n";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += text[0];
    } else if (length == 0 || first < 0x20 || first == 0x7F) {
      out += fmt::format("\\x{:02x}", first);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::string printable_path(std::string_view path) { return printable(path, path.size() * 4 + 1); }

std::string human_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024ull * 1024) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < 1024ull * 1024 * 1024) return fmt::format("{:.1f} MiB", value / (1024.0 * 1024));
  return fmt::format("{:.1f} GiB", value / (1024.0 * 1024 * 1024));
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace relaygen::engine
