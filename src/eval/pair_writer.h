// Outputs of a policy, written by the pair.
#pragma once

#include <functional>

#include "eval/runner.h"
#include "relaygen/relay.h"

namespace relaygen::eval {

/// A request of the policy for a prompt, without a seed. Errors: bad_input, too_long.
using RequestMaker = std::function<Result<Request>(const std::string& prompt)>;

/// Each text pays for its own prefill: nothing of an earlier one is reused. The pair and the costs (RunOptions::costs, may
/// be null) have to outlive the writer.
[[nodiscard]] std::unique_ptr<Writer> make_pair_writer(Engine& pair, RequestMaker make_request,
                                                       const CostModel* costs = nullptr);

}  // namespace relaygen::eval
