// What batches of a pair cost on this machine: measured once, kept in the user's cache folder.
#pragma once

#include "cli/options.h"
#include "relaygen/cost_model.h"

namespace relaygen::cli {

/// The costs that are kept, or a measurement of some seconds with a progress bar. It is kept under a name that stands for
/// the files of the models, threads, back end and flags that matter ($XDG_CACHE_HOME/relaygen, or ~/.cache/relaygen).
/// Where nothing can be kept, it is measured each time. Errors: those of decode; cancelled.
[[nodiscard]] Result<CostModel> machine_costs(Pair& pair, const ModelFlags& flags);

}  // namespace relaygen::cli
