#include "relaygen/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/softmax.h"

namespace relaygen {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits in which every input bit flips every
// output bit with probability close to one half.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

bool more_likely(float logit_a, TokenId a, float logit_b, TokenId b) {
  return logit_a != logit_b ? logit_a > logit_b : a < b;
}

// The first entry that holds the largest logit; 0 where every one is NaN.
TokenId first_of(std::span<const float> logits, float top) {
  const auto found = std::find(logits.begin(), logits.end(), top);
  return found == logits.end() ? 0 : static_cast<TokenId>(found - logits.begin());
}

TokenId most_likely(std::span<const float> logits) { return first_of(logits, largest(logits)); }

}  // namespace

Noise::Noise(std::uint64_t seed, NoiseStream stream, std::uint64_t choice)
    : key_(mix(mix(mix(seed) ^ static_cast<std::uint64_t>(stream)) ^ choice)) {}

double Noise::uniform(std::uint64_t position, std::uint64_t item) const noexcept {
  const std::uint64_t bits = mix(mix(key_ ^ position) ^ item);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

double Noise::gumbel(std::uint64_t position, std::uint64_t item) const noexcept {
  return -std::log(-std::log(uniform(position, item)));
}

float log_probability(std::span<const float> logits, TokenId token) {
  const float logit = logits[static_cast<std::size_t>(token)];
  if (std::isnan(logit)) return -std::numeric_limits<float>::infinity();
  return std::min(0.0F, logit - summarize(logits).log_sum);
}

bool is_refused(double logprob, double entropy, const TypicalCriterion& criterion) {
  return std::exp(logprob) < std::min(criterion.epsilon, criterion.delta * std::exp(-entropy));
}

bool is_plausible(std::span<const float> logits, TokenId token, const TypicalCriterion& criterion) {
  const RowSummary summary = summarize(logits);
  const float logit = logits[static_cast<std::size_t>(token)];
  if (std::isnan(logit)) return false;
  const auto logprob = static_cast<double>(std::min(0.0F, logit - summary.log_sum));
  if (std::exp(logprob) >= criterion.epsilon) return true;  // whatever the entropy is
  return !is_refused(logprob, static_cast<double>(entropy(logits, summary.log_sum)), criterion);
}

void Sampler::penalize(std::span<const TokenId> history) {
  const auto last_n = options_.penalty_last_n < 0 ? history.size() : static_cast<std::size_t>(options_.penalty_last_n);
  const auto window = history.last(std::min(last_n, history.size()));
  recent_.assign(window.begin(), window.end());
  std::sort(recent_.begin(), recent_.end());
  for (std::size_t i = 0; i < recent_.size();) {
    const TokenId token = recent_[i];
    const std::size_t first = i;
    while (i < recent_.size() && recent_[i] == token) ++i;
    if (token < 0 || static_cast<std::size_t>(token) >= penalized_.size()) continue;
    float& logit = penalized_[static_cast<std::size_t>(token)];
    logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    logit -= static_cast<float>(i - first) * options_.frequency_penalty + options_.presence_penalty;
  }
}

// Puts at least the k most likely tokens into candidates_, and not many more. The k-th largest of the maxima of blocks is
// at most the k-th largest logit, so everything below it can go; few blocks have to be looked at twice.
void Sampler::collect_top(std::span<const float> logits, std::size_t k) {
  constexpr std::size_t kMostBlocks = 512;
  const std::size_t size = std::max(kLanes, (logits.size() / kMostBlocks + kLanes - 1) / kLanes * kLanes);
  const std::size_t blocks = (logits.size() + size - 1) / size;
  const auto block = [&](std::size_t i) { return logits.subspan(i * size, std::min(size, logits.size() - i * size)); };
  float bound = -std::numeric_limits<float>::infinity();
  maxima_.clear();
  if (blocks >= k) {
    for (std::size_t i = 0; i < blocks; ++i) maxima_.push_back(largest(block(i)));
    ordered_ = maxima_;
    std::nth_element(ordered_.begin(), ordered_.begin() + static_cast<std::ptrdiff_t>(k - 1), ordered_.end(),
                     std::greater<>());
    bound = ordered_[k - 1];
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    if (!maxima_.empty() && maxima_[i] < bound) continue;
    const auto values = block(i);
    for (std::size_t j = 0; j < values.size(); ++j) {
      if (values[j] >= bound) candidates_.push_back({static_cast<TokenId>(i * size + j), values[j], 0});  // not for NaN
    }
  }
}

// Leaves in candidates_ what the filters keep, most likely first.
void Sampler::filter(std::span<const float> logits) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return more_likely(a.logit, a.token, b.logit, b.token);
  };
  candidates_.clear();
  const auto n = logits.size();
  const auto k = options_.top_k <= 0 ? n : std::min(n, static_cast<std::size_t>(options_.top_k));
  double total = 0;  // of p over everything that top-k keeps
  if (k < n) {
    collect_top(logits, k);
    std::partial_sort(candidates_.begin(),
                      candidates_.begin() + static_cast<std::ptrdiff_t>(std::min(k, candidates_.size())),
                      candidates_.end(), better);
    candidates_.resize(std::min(k, candidates_.size()));
  } else {
    // Tokens with p < (1 - top_p) / n together hold less than 1 - top_p, so the nucleus lies among the others.
    const float inverse = 1.0F / options_.temperature;
    const float top = logits[static_cast<std::size_t>(most_likely(logits))];
    for (const float logit : logits) {
      if (!std::isnan(logit)) total += std::exp(static_cast<double>((logit - top) * inverse));
    }
    const double least = total * (1.0 - static_cast<double>(options_.top_p)) / static_cast<double>(n) * 0.999;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(logits[i]) || std::exp(static_cast<double>((logits[i] - top) * inverse)) < least) continue;
      candidates_.push_back({static_cast<TokenId>(i), logits[i], 0});
    }
    std::sort(candidates_.begin(), candidates_.end(), better);
  }
  if (candidates_.empty()) candidates_.push_back({0, 0, 1});  // every logit is NaN

  const float top = candidates_.front().logit;
  double sum = 0;
  for (Candidate& candidate : candidates_) {
    candidate.p = std::exp((candidate.logit - top) / options_.temperature);
    if (std::isnan(candidate.p)) candidate.p = 1;  // both infinite
    sum += static_cast<double>(candidate.p);
  }
  if (k < n) total = sum;
  std::size_t kept = 0;
  for (double mass = 0; kept < candidates_.size(); ++kept) {
    if (kept > 0 && (mass >= static_cast<double>(options_.top_p) * total ||
                     candidates_[kept].p < options_.min_p * candidates_.front().p)) {
      break;
    }
    mass += static_cast<double>(candidates_[kept].p);
  }
  candidates_.resize(kept);
}

Choice Sampler::choose(std::span<const float> logits, std::span<const TokenId> history, std::uint64_t position) {
  const RowSummary summary = summarize(logits);
  std::span<const float> row = logits;
  if (options_.penalizes()) {
    penalized_.assign(logits.begin(), logits.end());
    penalize(history);
    row = penalized_;
  }

  TokenId token = 0;
  if (options_.temperature <= 0) {
    token = options_.penalizes() ? most_likely(row) : first_of(row, summary.top);
  } else {
    filter(row);
    double best = -std::numeric_limits<double>::infinity();
    token = candidates_.front().token;
    for (const Candidate& candidate : candidates_) {
      const double score = static_cast<double>(candidate.logit) / static_cast<double>(options_.temperature) +
                           noise_.gumbel(position, static_cast<std::uint64_t>(candidate.token));
      if (score > best || (score == best && candidate.token < token)) {
        best = score;
        token = candidate.token;
      }
    }
  }
  const float logit = logits[static_cast<std::size_t>(token)];
  return Choice{token, summary.margin,
                std::isnan(logit) ? -std::numeric_limits<float>::infinity() : std::min(0.0F, logit - summary.log_sum)};
}

}  // namespace relaygen
