// Where sentences end, with the whole text at hand: first the stretches that are code, mathematics or boxes, then each
// stop outside of them with a look at what stands before and after it, then the blank lines.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "relaygen/sentence.h"

namespace relaygen::oracle {

[[nodiscard]] std::vector<std::uint64_t> sentence_ends(std::string_view text, Rules rules);

/// Whether the text ends with the first bytes of a character.
[[nodiscard]] bool inside_character(std::string_view text);

}  // namespace relaygen::oracle
