// What the text core needs to know about UTF-8 and Unicode.
//
// Text arrives in pieces that may end inside a character and may hold bytes that are no UTF-8 at all (a model can
// produce both). One rule makes the division into characters independent of the pieces: where a valid sequence begins
// it is one character, any other byte is a symbol of its own (kInvalid). push_byte applies the rule to a stream.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace relaygen::unicode {

inline constexpr char32_t kInvalid = 0xFFFF'FFFF;  ///< stands for a byte that belongs to no character

struct Decoded {
  char32_t character = kInvalid;
  std::uint8_t size = 0;  ///< bytes; 0: the bytes given are the beginning of a character, more are needed
};

/// The first character of `bytes`, which must not be empty.
[[nodiscard]] Decoded decode(std::string_view bytes) noexcept;

/// Whether all of `text` is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

namespace detail {
[[nodiscard]] bool is_letter_beyond_ascii(char32_t character) noexcept;
[[nodiscard]] bool is_word_beyond_ascii(char32_t character) noexcept;
[[nodiscard]] bool is_space_beyond_ascii(char32_t character) noexcept;

inline constexpr auto kAsciiWord = [] {
  std::array<bool, 128> table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  table['_'] = true;
  return table;
}();
}  // namespace detail

[[nodiscard]] constexpr bool is_ascii_digit(char32_t c) noexcept { return c >= U'0' && c <= U'9'; }
[[nodiscard]] constexpr bool is_ascii_letter(char32_t c) noexcept {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
}

/// Letters, marks, decimal digits and '_'.
[[nodiscard]] inline bool is_word(char32_t c) noexcept {
  return c < 128 ? detail::kAsciiWord[c] : detail::is_word_beyond_ascii(c);
}

/// Letters of any script.
[[nodiscard]] inline bool is_letter(char32_t c) noexcept {
  return c < 128 ? is_ascii_letter(c) : detail::is_letter_beyond_ascii(c);
}

/// Unicode white space: blanks of any width, tabs, line and page breaks.
[[nodiscard]] inline bool is_space(char32_t c) noexcept {
  return c < 128 ? c == U' ' || (c >= U'\t' && c <= U'\r') : detail::is_space_beyond_ascii(c);
}

[[nodiscard]] constexpr bool is_line_break(char32_t c) noexcept {
  return (c >= U'\n' && c <= U'\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

namespace detail {
template <typename OnCharacter>
void take(char (&partial)[4], std::uint8_t& size, Decoded first, OnCharacter& on_character) {
  char whole[4];
  for (std::uint8_t i = 0; i < first.size; ++i) whole[i] = partial[i];
  size = static_cast<std::uint8_t>(size - first.size);
  for (std::uint8_t i = 0; i < size; ++i) partial[i] = partial[i + first.size];
  on_character(std::string_view(whole, first.size), first.character);
}
}  // namespace detail

/// `partial` and `size` hold the bytes of a character that is not complete yet (at most 3). Adds one byte and calls
/// on_character(bytes, character) for each character that it completes or that it shows to be none.
template <typename OnCharacter>
void push_byte(char (&partial)[4], std::uint8_t& size, char byte, OnCharacter&& on_character) {
  partial[size++] = byte;
  while (size > 0) {
    const Decoded first = decode({partial, size});
    if (first.size == 0) return;
    detail::take(partial, size, first, on_character);
  }
}

/// The text ends here: what is left in `partial` is no character.
template <typename OnCharacter>
void finish_bytes(char (&partial)[4], std::uint8_t& size, OnCharacter&& on_character) {
  while (size > 0) detail::take(partial, size, {kInvalid, 1}, on_character);
}

}  // namespace relaygen::unicode
