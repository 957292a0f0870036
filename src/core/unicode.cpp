#include "core/unicode.h"

#include <utf8proc.h>

namespace relaygen::unicode {
namespace {

constexpr bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The bytes that may follow a lead byte: the ranges that leave out overlong forms, surrogates and values over 10FFFF.
constexpr bool may_be_second(unsigned char lead, unsigned char byte) {
  switch (lead) {
    case 0xE0: return byte >= 0xA0 && byte <= 0xBF;
    case 0xED: return byte >= 0x80 && byte <= 0x9F;
    case 0xF0: return byte >= 0x90 && byte <= 0xBF;
    case 0xF4: return byte >= 0x80 && byte <= 0x8F;
    default: return is_continuation(byte);
  }
}

utf8proc_category_t category(char32_t character) {
  return character == kInvalid ? UTF8PROC_CATEGORY_CN : utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

}  // namespace

Decoded decode(std::string_view bytes) noexcept {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {lead, 1};
  const std::uint8_t size = lead >= 0xC2 && lead <= 0xDF   ? 2
                            : lead >= 0xE0 && lead <= 0xEF ? 3
                            : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                           : 0;
  if (size == 0) return {kInvalid, 1};
  char32_t character = lead & (0x7Fu >> size);
  for (std::uint8_t i = 1; i < size; ++i) {
    if (i == bytes.size()) return {kInvalid, 0};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == 1 ? !may_be_second(lead, byte) : !is_continuation(byte)) return {kInvalid, 1};
    character = (character << 6) | (byte & 0x3Fu);
  }
  return {character, size};
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const Decoded first = decode(text);
    if (first.character == kInvalid) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

namespace detail {

bool is_letter_beyond_ascii(char32_t character) noexcept {
  const auto c = category(character);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_word_beyond_ascii(char32_t character) noexcept {
  const auto c = category(character);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_ND;  // letters, marks, decimal digits
}

bool is_space_beyond_ascii(char32_t character) noexcept {
  if (character == 0x85) return true;
  const auto c = category(character);
  return c >= UTF8PROC_CATEGORY_ZS && c <= UTF8PROC_CATEGORY_ZP;
}

}  // namespace detail
}  // namespace relaygen::unicode
