// Engines around engines: what is decoded is recorded, what comes out is prescribed.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "relaygen/cost_model.h"
#include "relaygen/engine.h"
#include "relaygen/relay.h"

namespace relaygen::bench {

/// Another engine, which must outlive it, with everything passed on but decode().
class EngineAround : public Engine {
 public:
  [[nodiscard]] const Vocabulary& vocabulary() const noexcept override { return inner_.vocabulary(); }
  [[nodiscard]] EngineLimits limits() const noexcept override { return inner_.limits(); }
  [[nodiscard]] std::int32_t cached(Model model) const noexcept override { return inner_.cached(model); }
  [[nodiscard]] std::int32_t truncate(Model model, std::int32_t length) override {
    return inner_.truncate(model, length);
  }

 protected:
  explicit EngineAround(Engine& inner) : inner_(inner) {}
  Engine& inner_;
};

/// Keeps books of every decode of another engine.
class RecordingEngine : public EngineAround {
 public:
  explicit RecordingEngine(Engine& inner, Clock clock = steady_clock())
      : EngineAround(inner), clock_(std::move(clock)) {}

  /// Forgets what was recorded. Batches on top of fewer than `prompt_tokens` count as prefill from now on.
  void start(std::size_t prompt_tokens);

  /// The decodes since start(), failed ones left out, and the seconds that each took.
  [[nodiscard]] const Schedule& schedule() const noexcept { return schedule_; }
  [[nodiscard]] std::span<const double> seconds() const noexcept { return seconds_; }

  [[nodiscard]] Result<LogitRows> decode(Model model, std::span<const TokenId> tokens,
                                         std::int32_t output_rows) override;

 private:
  Clock clock_;
  std::size_t prompt_tokens_ = 0;
  Schedule schedule_;
  std::vector<double> seconds_;
};

/// An engine whose models always say what stands in a text: trace replay. Every decode and every cut is done by the
/// engine inside, for real; only the logits are exchanged for ones that are certain of the text's next token, and of an
/// end-of-generation token behind the text. So the text comes out whatever the policy, and with it the schedule of
/// batches that this policy has on this text. Where drafts or segments are checked by the large model, the small one can
/// be made to say something else at stated places.
class ReplayEngine : public EngineAround {
 public:
  explicit ReplayEngine(Engine& inner) : EngineAround(inner) {}

  /// What is to come out: prompt and text. Errors: bad_input where the vocabulary has no end-of-generation token.
  [[nodiscard]] Status set_text(std::vector<TokenId> tokens);
  /// Positions of the text at which the small model says another token: empty, or one entry a token.
  void set_mistakes(std::vector<bool> mistakes) { mistakes_ = std::move(mistakes); }

  [[nodiscard]] Result<LogitRows> decode(Model model, std::span<const TokenId> tokens,
                                         std::int32_t output_rows) override;

 private:
  struct Row {
    std::vector<float> logits;
    std::size_t hot = 0;  // the one entry that is not 0
  };

  std::vector<TokenId> text_;
  std::vector<bool> mistakes_;
  std::optional<TokenId> end_;
  TokenId other_ = 0;                     // what it says there
  std::array<std::vector<Row>, 2> rows_;  // of each model: a view lives until its next decode
  std::array<std::vector<std::span<const float>>, 2> views_;
};

/// Two caches and no models: a replay on it is a dry run that costs nothing and shows the schedule. Its logits are empty.
class DryEngine : public Engine {
 public:
  /// `vocabulary` must outlive it.
  DryEngine(const Vocabulary& vocabulary, EngineLimits limits) : vocabulary_(vocabulary), limits_(limits) {}

  [[nodiscard]] const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }
  [[nodiscard]] EngineLimits limits() const noexcept override { return limits_; }
  [[nodiscard]] std::int32_t cached(Model model) const noexcept override {
    return cached_[static_cast<std::size_t>(model)];
  }
  [[nodiscard]] std::int32_t truncate(Model model, std::int32_t length) override;
  [[nodiscard]] Result<LogitRows> decode(Model model, std::span<const TokenId> tokens,
                                         std::int32_t output_rows) override;

 private:
  const Vocabulary& vocabulary_;
  EngineLimits limits_;
  std::array<std::int32_t, 2> cached_{};
  std::vector<std::span<const float>> rows_;  // empty ones
};

}  // namespace relaygen::bench
