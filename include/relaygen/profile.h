// A profile: the cues of one pair with where they come from, as a versioned JSON file (docs/profile.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"
#include "relaygen/error.h"
#include "relaygen/types.h"

namespace relaygen {

/// One model of the pair that a profile was made for.
struct ProfileModel {
  std::string name{};        ///< general.name of the GGUF, or a public name; empty: unknown
  std::string vocabulary{};  ///< hash as PairInfo::One::vocabulary_hash; empty: unknown, never compared
};

struct Profile {
  std::string name{};
  std::string provenance{};  ///< how the cues were found: "hand-picked", "published (arXiv ...)", "calibrated ..."
  ProfileModel large{};
  ProfileModel small{};
  Rules rules = Rules::exact;
  std::vector<Cue> cues{};  ///< selected and merely known ones
  std::optional<std::uint32_t> min_large_tokens{};
  std::optional<std::uint32_t> max_small_tokens{};
  bool small_may_answer = false;  ///< evidence exists that the small model answers as well as the large one
  std::string answer_evidence{};  ///< what that evidence is
};

/// Parses a profile. `source` names it in messages. Unknown keys are ignored (a later version may add some), a later
/// major version is refused. Errors: bad_profile with the key and what is wrong with it.
[[nodiscard]] Result<Profile> parse_profile(std::string_view json, std::string_view source);
[[nodiscard]] Result<Profile> read_profile(const std::filesystem::path& file);

/// The profile as JSON text, ending in a line break; parse_profile reads the same profile back.
[[nodiscard]] std::string write_profile(const Profile& profile);

}  // namespace relaygen
