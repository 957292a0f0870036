// The tokens of an answer, which may be LaTeX, plain text or both. Internal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relaygen::eval {

enum class TokenKind : std::uint8_t {
  end,
  number,    ///< text: canonical digits ("1234.5", "0.(3)")
  variable,  ///< text: its name; Greek letters by their English name
  constant,  ///< text: "pi", "e", "i", "infinity"
  word,      ///< text: lower case
  function,  ///< text: sin, log, ...
  open,      ///< text: ( [ { \{ < | floor ceil matrix; the last with the environment's name after it
  close,     ///< text: the name of what it closes
  bar,       ///< |, which may open or close
  plus,
  minus,
  plus_minus,
  minus_plus,
  times,
  divide,
  power,
  subscript,
  factorial,
  percent,
  degree,
  prime,
  separator,  ///< , ; "and" "or"
  colon,
  relation,       ///< text: = n(ot equal) < l(ess or equal) > g(reater or equal) e(lement of)
  set_union,      ///< \cup
  set_operation,  ///< text: intersection, difference
  fraction,
  binomial,
  root,
  cell,  ///< & in a matrix
  row,   ///< \\ in a matrix
  reals,
  empty_set,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text{};
  bool spaced = false;  ///< white space stood before it
  bool plain = false;   ///< a number of digits only, or a separator written as a word
};

inline constexpr std::size_t kMaxAnswerBytes = 4096;

/// Nothing where the text holds what has no meaning here, or is longer than kMaxAnswerBytes. The last token is `end`.
[[nodiscard]] std::optional<std::vector<Token>> tokenize(std::string_view text);

}  // namespace relaygen::eval
