// The vocabulary of a pair, on llama.cpp's.
#pragma once

#include <llama.h>

#include <string>
#include <vector>

#include "relaygen/engine.h"

namespace relaygen::engine {

/// Whether two models can share one token sequence: the same kind of tokenizer, the same text, kind and end-of-text
/// property of every id that both have, and at most kPaddingIds more ids in one of them, all of them unused. (Models of
/// one family often pad their tables to different sizes: 151,936 and 152,064 for Qwen2.5.) Returns the number of shared
/// ids, or pair_mismatch naming the first differing one.
[[nodiscard]] Result<std::int32_t> shared_vocabulary(const llama_vocab* large, const llama_vocab* small);

inline constexpr std::int32_t kPaddingIds = 128;

/// FNV-1a, 64 bits, over text, kind and end-of-text property of the first `size` ids, as 16 hex digits.
[[nodiscard]] std::string vocabulary_hash(const llama_vocab* vocab, std::int32_t size);

/// The first `size` ids of a model's vocabulary. The llama_vocab must outlive it.
class LlamaVocabulary final : public Vocabulary {
 public:
  LlamaVocabulary(const llama_vocab* vocab, std::int32_t size);

  [[nodiscard]] std::int32_t size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view piece(TokenId token) const noexcept override;
  [[nodiscard]] bool ends_generation(TokenId token) const noexcept override;
  [[nodiscard]] Result<std::vector<TokenId>> tokenize(std::string_view text) const override;

 private:
  [[nodiscard]] bool known(TokenId token) const noexcept { return token >= 0 && token < size_; }

  const llama_vocab* vocab_;
  std::int32_t size_;
  std::string bytes_;                 // all pieces, one after the other
  std::vector<std::uint32_t> begin_;  // [size + 1] offsets into bytes_
  std::vector<bool> ends_;            // [size]
};

}  // namespace relaygen::engine
