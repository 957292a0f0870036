// The rate of the random control that is worth a comparison: the one with relay's share of the small model.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "eval/runner.h"

namespace relaygen::eval {

struct MatchedRate {
  double rate = 0;
  double wanted_share = 0;  ///< of the small model under relay
  double share = 0;         ///< under random at this rate, on the same problems
};

/// Looks for the rate by bisection on the given problems, whose texts are not kept. `make_random` makes a writer for a
/// rate; `tried` hears of each step, from 0 to 1. Errors: those of the writers, cancelled.
[[nodiscard]] Result<MatchedRate> match_random_rate(Writer& relay,
                                                    const std::function<std::unique_ptr<Writer>(double)>& make_random,
                                                    std::span<const StoredProblem> problems, std::uint64_t seed,
                                                    const std::atomic<bool>& cancel,
                                                    const std::function<void(double)>& tried);

}  // namespace relaygen::eval
