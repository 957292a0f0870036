// Whether an answer is right.
//
// Only the answer is graded, never the thinking. The expected answer and the given one are compared as mathematics:
// "0.5", "\frac{1}{2}" and "50\%" are one answer. Pure and deterministic; no input can make it fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace relaygen::eval {

/// What a problem asks for.
enum class AnswerKind : std::uint8_t {
  math,    ///< a number, an expression, a tuple, a set, ...
  choice,  ///< the letter of an option
  none,    ///< nothing that can be graded (instructions); outputs are kept, not scored
};

enum class Verdict : std::uint8_t {
  right,
  wrong,
  no_answer,   ///< the text ended without an answer in it; counts as wrong
  unfinished,  ///< the thinking or the answer was cut; counts as wrong
  ungraded,    ///< AnswerKind::none
};

[[nodiscard]] std::string_view name(Verdict verdict);
[[nodiscard]] constexpr bool is_right(Verdict verdict) { return verdict == Verdict::right; }

/// The final answer in a text: the last \boxed{...} (nested braces; an unclosed one does not count), else what follows
/// the last "answer is" / "answer:" / "####", else, for math, the last number of the text. For choice: the option
/// letter, also as "(B)", "B.", "\text{B}" or "option B". `options` is the number of options, for choice (0: unknown).
/// Returns nothing where there is none.
[[nodiscard]] std::optional<std::string> extract_answer(std::string_view text, AnswerKind kind,
                                                        std::size_t options = 0);

/// Whether two answers are the same mathematics: numbers (thousands separators, fractions, mixed numbers, decimals,
/// percentages, scientific notation), units and currency dropped, radicals, pi, powers, tuples and intervals (ordered),
/// sets and "a, b" lists (no order), x = 3, matrices, and expressions in a few variables.
/// Symmetric. Texts that are no mathematics are compared without case, spaces and LaTeX decoration.
[[nodiscard]] bool equivalent(std::string_view given, std::string_view expected);

struct Grade {
  Verdict verdict = Verdict::no_answer;
  std::string answer{};  ///< as extracted; empty for no_answer and unfinished
};

/// Grades what stands after the thinking. `finished` is false where a budget cut the text.
[[nodiscard]] Grade grade(std::string_view answer, bool finished, std::string_view expected, AnswerKind kind,
                          std::size_t options = 0);

}  // namespace relaygen::eval
