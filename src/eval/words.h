// Words that mean something in an answer. Internal. All of them are lower case.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace relaygen::eval {

/// A name for people ("cm", "dollars", "no") that is short enough to be taken for a product of variables.
[[nodiscard]] bool is_short_word(std::string_view word);
/// A unit that may stand at a number without a space ("22cm").
[[nodiscard]] bool is_unit(std::string_view word);
/// "approximately" and the like: nothing is lost without it.
[[nodiscard]] bool is_filler(std::string_view word);
/// "if" and the like: what follows changes what was said.
[[nodiscard]] bool is_condition(std::string_view word);
/// sin, log, sqrt, ...
[[nodiscard]] bool is_function(std::string_view word);
/// The name of a Greek letter.
[[nodiscard]] bool is_greek(std::string_view word);
/// The power of ten of "million" and the like.
[[nodiscard]] std::optional<std::int64_t> multiplier(std::string_view word);
/// Single letters that are units where a number and a space stand before them.
[[nodiscard]] bool is_unit_letter(std::string_view letter);

[[nodiscard]] constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace relaygen::eval
