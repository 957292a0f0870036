// The token log: the truth about one sequence. Text, usage, segments and colours derive from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "relaygen/types.h"

namespace relaygen {

struct TokenRecord {
  TokenId id = 0;
  Author author = Author::prompt;
  Phase phase = Phase::thinking;   ///< at the token's first byte; meaningless for the prompt
  bool committed = true;           ///< false: provisional, may still be dropped
  float margin = kUnknown;         ///< of its author; NaN for prompt and forced tokens
  float logprob = kUnknown;        ///< under its author, temperature 1, unfiltered; NaN likewise
  float large_logprob = kUnknown;  ///< under the large model, for small tokens whose catch-up gave it; NaN otherwise

  static constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
};

/// Append and cut only. ids() and records() run in parallel.
class TokenLog {
 public:
  void reserve(std::size_t tokens) {
    ids_.reserve(tokens);
    records_.reserve(tokens);
  }
  void append(const TokenRecord& record) {
    records_.push_back(record);
    ids_.push_back(record.id);
  }
  void truncate(std::size_t length) {
    ids_.resize(length);
    records_.resize(length);
  }

  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return std::min(ids_.capacity(), records_.capacity()); }
  [[nodiscard]] std::span<const TokenId> ids() const noexcept { return ids_; }
  [[nodiscard]] std::span<const TokenRecord> records() const noexcept { return records_; }
  [[nodiscard]] TokenRecord& operator[](std::size_t i) { return records_[i]; }
  [[nodiscard]] const TokenRecord& operator[](std::size_t i) const { return records_[i]; }

 private:
  std::vector<TokenId> ids_;
  std::vector<TokenRecord> records_;
};

}  // namespace relaygen
