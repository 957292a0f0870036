// A scripted engine: two models that are functions of their context, with real caches and faults on demand. The loop
// cannot tell it from llama.cpp, and its arithmetic does not depend on batch shapes, so equality is exact.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "relaygen/engine.h"

namespace relaygen {

/// Pieces by token id; text is tokenized by the longest piece that fits.
class FakeVocabulary : public Vocabulary {
 public:
  FakeVocabulary(std::vector<std::string> pieces, std::vector<TokenId> end_of_generation)
      : pieces_(std::move(pieces)), end_of_generation_(std::move(end_of_generation)) {}
  [[nodiscard]] std::int32_t size() const noexcept override { return static_cast<std::int32_t>(pieces_.size()); }
  [[nodiscard]] std::string_view piece(TokenId token) const noexcept override;
  [[nodiscard]] bool ends_generation(TokenId token) const noexcept override;
  [[nodiscard]] Result<std::vector<TokenId>> tokenize(std::string_view text) const override;
  /// The id of a piece. Requires that it exists.
  [[nodiscard]] TokenId id(std::string_view piece) const;

 private:
  std::vector<std::string> pieces_;
  std::vector<TokenId> end_of_generation_;
};

/// Fills the logits of the token after `context`.
using FakeModel = std::function<void(Model model, std::span<const TokenId> context, std::span<float> logits)>;

/// What the n-th decode (from 0) does: 0 or a code of llama_decode (1 no slot, 2 aborted after half of the batch,
/// -1 invalid, -2 fatal after half of the batch).
using FakeFaults = std::function<int(std::uint64_t decode)>;

struct FakeEngineOptions {
  FakeModel model{};
  FakeFaults faults{};
  EngineLimits limits{.window = 4096, .batch = 64, .output_rows = 16};  ///< can_cut = false: like a recurrent model
};

class FakeEngine : public Engine {
 public:
  FakeEngine(FakeVocabulary vocabulary, FakeEngineOptions options)
      : vocabulary_(std::move(vocabulary)), options_(std::move(options)) {}

  [[nodiscard]] const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }
  [[nodiscard]] EngineLimits limits() const noexcept override { return options_.limits; }
  [[nodiscard]] std::int32_t cached(Model model) const noexcept override;
  [[nodiscard]] std::int32_t truncate(Model model, std::int32_t length) override;
  [[nodiscard]] Result<LogitRows> decode(Model model, std::span<const TokenId> tokens,
                                         std::int32_t output_rows) override;

  [[nodiscard]] std::uint64_t decodes() const noexcept { return decodes_; }
  [[nodiscard]] std::uint64_t decoded_rows(Model model) const noexcept {
    return rows_[static_cast<std::size_t>(model)];
  }
  void set_faults(FakeFaults faults) { options_.faults = std::move(faults); }

 private:
  FakeVocabulary vocabulary_;
  FakeEngineOptions options_;
  std::array<std::vector<TokenId>, 2> cache_;
  std::array<std::vector<std::vector<float>>, 2> logits_;
  std::array<std::vector<std::span<const float>>, 2> views_;
  std::array<std::uint64_t, 2> rows_{};
  std::uint64_t decodes_ = 0;
};

}  // namespace relaygen
