#include "core/draft_length.h"

#include <algorithm>
#include <cmath>

namespace relaygen {
namespace {

constexpr double kPriorWeight = 6;  // guesses
constexpr double kMemory = 0.995;   // what a guess counts for once another one came

constexpr double kBonus = 0.4;  // a share of n has a standard deviation of at most 0.5 / sqrt(n)
constexpr double kMost = 0.99;

}  // namespace

void Acceptance::Share::add(bool one) noexcept {
  accepted = accepted * kMemory + (one ? 1 : 0);
  all = all * kMemory + 1;
}

double Acceptance::Share::value() const noexcept { return std::min(kMost, accepted / all); }

double Acceptance::Share::hope() const noexcept { return std::min(kMost, (accepted + kBonus * std::sqrt(all)) / all); }

Acceptance::Acceptance(double prior) : overall_{prior * kPriorWeight, kPriorWeight} { ranges_.fill(overall_); }

std::size_t Acceptance::range_of(double margin) noexcept {
  return static_cast<std::size_t>(std::upper_bound(kBounds.begin(), kBounds.end(), margin) - kBounds.begin());
}

void Acceptance::add(double margin, bool accepted) noexcept {
  ranges_[range_of(margin)].add(accepted);
  overall_.add(accepted);
}

double Acceptance::rate(double margin) const noexcept { return ranges_[range_of(margin)].value(); }

double Acceptance::rate() const noexcept { return overall_.value(); }

double Acceptance::hope(double margin) const noexcept { return ranges_[range_of(margin)].hope(); }

double Acceptance::hope() const noexcept { return overall_.hope(); }

const CostModel& usual_costs() {
  static const CostModel costs = [] {
    constexpr std::array<BatchCost, 3> kLarge{{{0, 1, 1.0}, {0, 8, 1.2}, {0, 64, 2.8}}};
    constexpr std::array<BatchCost, 3> kSmall{{{0, 1, 0.15}, {0, 8, 0.18}, {0, 64, 0.42}}};
    return CostModel{CostTable(kLarge), CostTable(kSmall), 0.005};
  }();
  return costs;
}

}  // namespace relaygen
