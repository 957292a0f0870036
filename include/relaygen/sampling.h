// One sampling rule for both models: filters, then the largest log p + Gumbel noise.
//
// Gumbel-max: argmax_i (log p_i + G_i) with independent G_i = -log(-log U_i) is an exact draw from p. Here U_i is a hash
// of (seed, stream, choice, position, token), so a draw needs no generator state, does not depend on batching, drafting
// or streaming, and the two models share the noise of a position (drafter-invariant speculative decoding: Daliri, Musco,
// Suresh, arXiv 2408.07978).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relaygen/types.h"

namespace relaygen {

/// Filters of a request, applied in this order: penalties, temperature, top-k, top-p, min-p. Defaults are what Qwen3
/// and the paper recommend for thinking.
struct SamplingOptions {
  float temperature = 0.6F;        ///< >= 0; 0 takes the most likely token, without noise, ties to the lowest id
  std::int32_t top_k = 20;         ///< keep the k most likely tokens; <= 0: all
  float top_p = 0.95F;             ///< (0, 1]; keep the smallest set of tokens with at least this probability
  float min_p = 0.0F;              ///< [0, 1]; drop tokens less likely than this share of the most likely one
  float repeat_penalty = 1.0F;     ///< > 0; 1: off. Divides positive and multiplies negative logits of repeated tokens
  float presence_penalty = 0.0F;   ///< subtracted once from the logit of a token that occurred
  float frequency_penalty = 0.0F;  ///< subtracted for every occurrence
  std::int32_t penalty_last_n = 64;  ///< how many of the last tokens (prompt included) the penalties see; -1: all

  [[nodiscard]] bool penalizes() const noexcept {
    return penalty_last_n != 0 && (repeat_penalty != 1.0F || presence_penalty != 0.0F || frequency_penalty != 0.0F);
  }
};

/// Separate sources of randomness never share a stream.
enum class NoiseStream : std::uint64_t { tokens = 0, random_policy = 1, evaluation = 2 };

/// A source of noise without state: the same arguments give the same number on every machine.
class Noise {
 public:
  Noise() = default;
  Noise(std::uint64_t seed, NoiseStream stream, std::uint64_t choice = 0);
  /// Uniform in the open interval (0, 1), 53 bits.
  [[nodiscard]] double uniform(std::uint64_t position, std::uint64_t item) const noexcept;
  /// Standard Gumbel: -log(-log(uniform)).
  [[nodiscard]] double gumbel(std::uint64_t position, std::uint64_t item) const noexcept;

 private:
  std::uint64_t key_ = 0;
};

/// What a model said about one position.
struct Choice {
  TokenId token = 0;
  float margin = 0;   ///< p(top-1) - p(top-2) of the unfiltered distribution at temperature 1, in [0, 1]
  float logprob = 0;  ///< log p(token) of the same distribution, <= 0
};

/// Applies the rule. Owns scratch memory, so that a token costs no allocation once warm. Not thread-safe.
class Sampler {
 public:
  explicit Sampler(SamplingOptions options = {}, Noise noise = {}) : options_(options), noise_(noise) {}

  /// Chooses the token at `position` (index in the token log) from raw logits (one per token id, NaN counts as
  /// -infinity). `history` is the log before that position; only penalties look at it. Requires a non-empty row.
  [[nodiscard]] Choice choose(std::span<const float> logits, std::span<const TokenId> history, std::uint64_t position);

  [[nodiscard]] const SamplingOptions& options() const noexcept { return options_; }

 private:
  struct Candidate {
    TokenId token;
    float logit;  // penalised
    float p;      // relative to the most likely one
  };
  void penalize(std::span<const TokenId> history);
  void collect_top(std::span<const float> logits, std::size_t k);
  void filter(std::span<const float> logits);

  SamplingOptions options_;
  Noise noise_;
  std::vector<float> penalized_;
  std::vector<TokenId> recent_;
  std::vector<Candidate> candidates_;
  std::vector<float> maxima_;
  std::vector<float> ordered_;
};

/// Typical acceptance (Medusa: Cai et al., arXiv 2401.10774): a token is plausible where p >= min(epsilon, delta *
/// exp(-entropy)), with p and entropy (natural logarithm) of the unfiltered distribution at temperature 1.
struct TypicalCriterion {
  double epsilon = 0.09;  ///< in (0, 1]
  double delta = 0.3;     ///< > 0
};
[[nodiscard]] bool is_refused(double logprob, double entropy, const TypicalCriterion& criterion);

/// Whether a token passes the criterion under a row of logits. Pure; O(row).
[[nodiscard]] bool is_plausible(std::span<const float> logits, TokenId token, const TypicalCriterion& criterion);

/// log p(token) of the unfiltered distribution at temperature 1. Pure; O(row).
[[nodiscard]] float log_probability(std::span<const float> logits, TokenId token);

}  // namespace relaygen
