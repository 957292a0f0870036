// How many tokens to guess ahead. Internal.
//
// A batch of the large model that checks k guesses yields 1 + sum over i <= k of a_1 ... a_i tokens, a_i being the chance
// that guess i stands if all before it do (Leviathan, Kalman, Matias, arXiv 2211.17192). Batches follow one another, so
// the length that is best for one batch by expected tokens a second is best for the text.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "relaygen/cost_model.h"

namespace relaygen {

/// How often guesses stand, learned as a text goes on: a share for each range of the guesser's margin, older guesses
/// counting less. Little is known at first, and whoever does not guess learns nothing; so beside the rate there is what may
/// be hoped for: with a bonus for what was not seen (an upper confidence bound), which fades as guesses are checked.
/// A value.
class Acceptance {
 public:
  /// `prior` in (0, 1): what is expected before anything was seen, for guesses of any margin.
  explicit Acceptance(double prior = 0.8);

  void add(double margin, bool accepted) noexcept;
  [[nodiscard]] double rate(double margin) const noexcept;  ///< for a guess of this margin, in (0, 1)
  [[nodiscard]] double rate() const noexcept;               ///< for one that is not made yet
  [[nodiscard]] double hope(double margin) const noexcept;  ///< not below the rate, in (0, 1)
  [[nodiscard]] double hope() const noexcept;

 private:
  struct Share {
    double accepted = 0, all = 0;
    [[nodiscard]] double value() const noexcept;
    [[nodiscard]] double hope() const noexcept;
    void add(bool one) noexcept;
  };
  static constexpr std::array kBounds{0.3, 0.6, 0.9, 0.99};
  static std::size_t range_of(double margin) noexcept;
  std::array<Share, kBounds.size() + 1> ranges_;
  Share overall_;
};

struct DraftLength {
  std::size_t tokens = 0;
  double rate = 0;  ///< tokens a second
};

/// The k in [0, most] with most expected tokens a second; of equals the smallest. `known` are the chances of guesses that
/// are made already, `unknown` that of further ones; the guesses count with probability `reach` only. `seconds(k)` > 0 is
/// the time of guessing and checking k.
template <typename Seconds>
[[nodiscard]] DraftLength best_draft_length(std::span<const double> known, double unknown, double reach,
                                            std::size_t most, const Seconds& seconds) {
  DraftLength best{0, 1 / seconds(std::size_t{0})};
  double tokens = 1;
  double chance = reach;
  for (std::size_t k = 1; k <= most; ++k) {
    chance *= k <= known.size() ? known[k - 1] : unknown;
    tokens += chance;
    const double rate = tokens / seconds(k);
    if (rate > best.rate) best = {k, rate};
  }
  return best;
}

/// For machines that nobody has measured: a row more costs little, and the small model a fraction of the large one.
[[nodiscard]] const CostModel& usual_costs();

}  // namespace relaygen
