// The words of the project as types. See docs/method.md for their meaning.
#pragma once

#include <cstdint>
#include <string_view>

namespace relaygen {

using TokenId = std::int32_t;

/// Which of the two models.
enum class Model : std::uint8_t { large = 0, small = 1 };

/// Who put a token into the log. `forced` is RelayGen itself (a closing tag when the thinking budget ran out).
enum class Author : std::uint8_t { prompt, large, small, forced };

/// Text before and after the end-of-thinking tag. The tags themselves count as thinking.
enum class Phase : std::uint8_t { thinking, answer };

[[nodiscard]] constexpr std::string_view name(Model model) { return model == Model::large ? "large" : "small"; }

[[nodiscard]] constexpr std::string_view name(Author author) {
  switch (author) {
    case Author::prompt: return "prompt";
    case Author::large: return "large";
    case Author::small: return "small";
    case Author::forced: return "forced";
  }
  return "?";
}

[[nodiscard]] constexpr std::string_view name(Phase phase) { return phase == Phase::thinking ? "thinking" : "answer"; }

[[nodiscard]] constexpr Author author_of(Model model) { return model == Model::large ? Author::large : Author::small; }

}  // namespace relaygen
