// Where the files that come with RelayGen are.
#pragma once

#include <filesystem>
#include <string>

#include "relaygen/error.h"

namespace relaygen::cli {

/// The folder that holds models/demo and profiles: $RELAYGEN_DATA, or next to the program as built or as installed
/// (share/relaygen). Errors: bad_model naming the places that were tried.
[[nodiscard]] Result<std::filesystem::path> bundled_folder();

/// What has to be said beside every time of the bundled pair.
inline constexpr const char* kNoSpeedOfBundledPair = "The bundled pair is too small to tell what larger models gain.";

struct BundledProblem {
  std::string id, question, answer;
};

/// A held-out problem of the bundled pair.
[[nodiscard]] Result<BundledProblem> bundled_problem();

}  // namespace relaygen::cli
