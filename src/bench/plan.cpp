#include "bench/plan.h"

#include <limits>

namespace relaygen::bench {

Result<std::vector<Plan>> plan_policies(const Engine& engine, std::span<const Trace> traces,
                                        std::span<const TokenId> prompt, std::span<const NamedPolicy> policies,
                                        const CostModel& costs, const RunOptions& options) {
  EngineLimits limits = engine.limits();
  limits.window = std::numeric_limits<std::int32_t>::max();  // nothing is held
  std::vector<Plan> plans;
  for (const NamedPolicy& policy : policies) {
    Plan plan{.policy = policy.name};
    for (const Trace& trace : traces) {
      DryEngine empty(engine.vocabulary(), limits);
      Replayer replayer(empty);
      if (auto ok = replayer.prepare(whole_trace(trace, prompt, PromptState::before_thinking)); !ok)
        return tl::unexpected(ok.error());
      for (const Model model : {Model::large, Model::small}) (void)empty.truncate(model, 0);
      auto account = replayer.run(policy, options);
      if (!account) return tl::unexpected(account.error());
      plan.ideal += ideal_time(account->schedule, costs);
      plan.usage += account->usage;
    }
    plans.push_back(std::move(plan));
  }
  for (Plan& plan : plans) plan.speed_up = plans.front().ideal.seconds() / plan.ideal.seconds();
  return plans;
}

}  // namespace relaygen::bench
