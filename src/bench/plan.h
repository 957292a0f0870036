// What a policy would cost on a text, without running a model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/replay.h"

namespace relaygen::bench {

/// One policy over all texts.
struct Plan {
  std::string policy{};
  Usage usage{};        ///< sums over the texts
  PartTimes ideal{};    ///< predicted seconds; prompts are read by each model that writes
  double speed_up = 1;  ///< against the first policy
};

/// Replays whole traces behind `prompt` (at least one token) on empty engines with the batch limits of `engine`, and
/// prices the schedules, `acceptance` as in Replayer::run. The traces must hold what `engine` calls tokens. Errors: those of Replayer.
[[nodiscard]] Result<std::vector<Plan>> plan_policies(const Engine& engine, std::span<const Trace> traces,
                                                      std::span<const TokenId> prompt,
                                                      std::span<const NamedPolicy> policies, const CostModel& costs,
                                                      const RunOptions& options, double acceptance = 1);

}  // namespace relaygen::bench
