// Where a result comes from: program, machine, models, time.
#pragma once

#include "io/completion_json.h"
#include "relaygen/pair.h"

namespace relaygen::cli {

/// Keeps the command line for provenance().
void remember_command(int argc, const char* const* argv);

/// kind, created, program, command, machine and models of a report. `pair` may be null (endpoints only).
[[nodiscard]] OrderedJson provenance(std::string_view kind, const PairInfo* pair);

}  // namespace relaygen::cli
