// Answers as words. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace relaygen::eval {

/// Without LaTeX that only decorates (\text{...}, $, spaces of any kind, \left, ...) and without Markdown's stars.
/// Blanks are kept, one at a time.
[[nodiscard]] std::string undecorated(std::string_view text);

/// What two texts have to share to be the same: undecorated, in lower case, without quotes, a final full stop, or blanks
/// (but for those between digits and after commas before digits).
[[nodiscard]] std::string bare_text(std::string_view text);

/// The letter of an option, as a capital: "B", "(b)", "B.", "\text{(B)}", "(B) 12", "option B". `options` is their
/// number, 0 where it is not known: then letters up to J count.
[[nodiscard]] std::optional<char> option_letter(std::string_view text, std::size_t options);

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace relaygen::eval
