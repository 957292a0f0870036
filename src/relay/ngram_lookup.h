// Guessing what comes next from what came before: where the last three tokens stood already, what followed them there
// (prompt lookup decoding). Costs nothing but memory of 4 bytes a slot.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relaygen/types.h"

namespace relaygen {

class NgramLookup {
 public:
  static constexpr std::size_t kTokens = 3;

  /// Takes up tokens of a text that only grows: those behind what was taken up before.
  void update(std::span<const TokenId> text);

  /// The position behind the last place in `text` (as given to update) where these three tokens stood; nothing where
  /// they never did, or where other tokens took their slot since.
  [[nodiscard]] std::optional<std::size_t> behind(std::span<const TokenId, kTokens> last,
                                                  std::span<const TokenId> text) const noexcept;

 private:
  std::vector<std::uint32_t> slots_;  // position behind an n-gram, 0: none
  std::size_t read_ = 0;              // tokens taken up
};

}  // namespace relaygen
