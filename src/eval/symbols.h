// What LaTeX commands and single characters mean in an answer. Internal.
#pragma once

#include <string_view>

#include "eval/tokens.h"

namespace relaygen::eval {

struct Symbol {
  TokenKind kind = TokenKind::end;
  std::string_view text{};
};

/// By the command's name without its backslash. Null: it has no meaning here.
[[nodiscard]] const Symbol* find_command(std::string_view name);
/// Null: it has no meaning here.
[[nodiscard]] const Symbol* find_character(char32_t character);
/// Commands that only change how their argument, or nothing at all, looks.
[[nodiscard]] bool is_decoration(std::string_view command);
/// Characters to leave out: currency, quotes, invisible ones.
[[nodiscard]] bool is_ignored(char32_t character);
/// -1: none.
[[nodiscard]] int superscript_digit(char32_t character);

}  // namespace relaygen::eval
