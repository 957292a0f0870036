// A calibration as the profile that the relay reads.
#pragma once

#include "calibrate/findings.h"
#include "io/completion_json.h"
#include "relaygen/profile.h"

namespace relaygen::calibrate {

struct ProfileNames {
  std::string profile{};
  ProfileModel large{}, small{};
  std::string program{};  ///< name and version of this program
};

/// What of the options shapes a profile, for people and for repeating it.
[[nodiscard]] OrderedJson settings_to_json(const AnalysisOptions& options);

/// Candidates that occurred, selected or not, and those that were named: the ones that are not selected keep shorter ones
/// from firing in them. The same analysis gives the same profile.
[[nodiscard]] Profile make_profile(const Analysis& analysis, const Findings& findings, const ProfileNames& names);

}  // namespace relaygen::calibrate
