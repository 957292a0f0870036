// What the loop asks of whatever runs the two models.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/error.h"
#include "relaygen/types.h"

namespace relaygen {

/// The token ids that both models share. Immutable after loading; thread-safe.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  /// Number of token ids, 0 .. size()-1, that both models know. Logit rows have this many entries.
  [[nodiscard]] virtual std::int32_t size() const noexcept = 0;
  /// The bytes of a token, special tokens as their text ("</think>"). Not necessarily whole UTF-8 characters.
  /// Empty for an id out of range. The view lives as long as the vocabulary.
  [[nodiscard]] virtual std::string_view piece(TokenId token) const noexcept = 0;
  /// Whether this token ends generation.
  [[nodiscard]] virtual bool ends_generation(TokenId token) const noexcept = 0;
  /// Tokenizes UTF-8 text; the text of special tokens becomes those tokens. Adds no begin-of-text token.
  [[nodiscard]] virtual Result<std::vector<TokenId>> tokenize(std::string_view text) const = 0;
};

/// Logits of the last rows of one decode: row-major, rows x vocabulary, raw (before any filter).
/// A view into memory of the engine, list of rows included: valid until the next call of decode for the same model.
class LogitRows {
 public:
  LogitRows() = default;
  explicit LogitRows(std::span<const std::span<const float>> rows) : rows_(rows) {}
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::span<const float> operator[](std::size_t row) const { return rows_[row]; }

 private:
  std::span<const std::span<const float>> rows_;
};

/// Limits of an engine, fixed after loading. All numbers at least 1.
struct EngineLimits {
  std::int32_t window = 0;       ///< tokens that the smaller of the two contexts holds
  std::int32_t batch = 0;        ///< rows that one decode may carry
  std::int32_t output_rows = 0;  ///< rows of one decode that may ask for logits
  bool can_cut = true;           ///< both caches can be cut anywhere; else truncate() clears them
};

/// Two models, each with a cache of one token sequence. Not thread-safe; one caller at a time. The token log of the
/// caller is the truth, the caches are derived from it.
class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const Vocabulary& vocabulary() const noexcept = 0;
  [[nodiscard]] virtual EngineLimits limits() const noexcept = 0;

  /// Number of tokens in a model's cache. After a failed decode this is what really is there.
  [[nodiscard]] virtual std::int32_t cached(Model model) const noexcept = 0;

  /// Cuts a model's cache to its first `length` tokens and returns how many it holds now: `length`, or fewer (0) where
  /// the architecture cannot cut there and the cache had to be cleared. A length beyond the cache changes nothing.
  [[nodiscard]] virtual std::int32_t truncate(Model model, std::int32_t length) = 0;

  /// Appends tokens to a model's cache and computes logits of the last `output_rows` of them (row i predicts the token
  /// after tokens[tokens.size() - output_rows + i]).
  /// Requires 1 <= tokens.size() <= limits().batch, 0 <= output_rows <= min(tokens.size(), limits().output_rows).
  /// Errors: no_cache_slot (cache unchanged), cancelled and decode_failed (the cache may have grown; see cached()).
  [[nodiscard]] virtual Result<LogitRows> decode(Model model, std::span<const TokenId> tokens,
                                                 std::int32_t output_rows) = 0;

  /// Whose token sequence the caches hold: a number that each user of the engine chooses for itself, 0 for nobody. Who
  /// finds another number than its own knows that the caches are not as it left them.
  [[nodiscard]] std::uint64_t owner() const noexcept { return owner_; }
  void set_owner(std::uint64_t owner) noexcept { owner_ = owner; }

 private:
  std::uint64_t owner_ = 0;
};

}  // namespace relaygen
