#include "relay/ngram_lookup.h"

#include <algorithm>

namespace relaygen {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << 16;

std::size_t slot_of(std::span<const TokenId, NgramLookup::kTokens> tokens) noexcept {
  std::uint64_t hash = 0;
  for (const TokenId token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::size_t>(hash >> 48);
}

static_assert(kSlots == std::size_t{1} << (64 - 48));

}  // namespace

void NgramLookup::update(std::span<const TokenId> text) {
  if (slots_.empty()) slots_.assign(kSlots, 0);
  for (std::size_t end = std::max(read_ + 1, kTokens); end <= text.size(); ++end)
    slots_[slot_of(text.subspan(end - kTokens).first<kTokens>())] = static_cast<std::uint32_t>(end);
  read_ = std::max(read_, text.size());
}

std::optional<std::size_t> NgramLookup::behind(std::span<const TokenId, kTokens> last,
                                               std::span<const TokenId> text) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const std::size_t end = slots_[slot_of(last)];
  if (end < kTokens || end > text.size()) return std::nullopt;
  if (!std::ranges::equal(last, text.subspan(end - kTokens, kTokens))) return std::nullopt;
  return end;
}

}  // namespace relaygen
