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

/// An estimate with its 95% interval.
struct ProfileEstimate {
  double value = 0, low = 0, high = 0;
  bool operator==(const ProfileEstimate&) const = default;
};

/// What a calibration found about one cue (docs/calibration.md tells how).
struct CueEvidence {
  std::string
      decision{};  ///< "selected", or why not: "rare", "low_score", "refused", "unproven", "harmful", "redundant"
  std::uint64_t count = 0;                             ///< occurrences on the problems that cues were chosen on
  std::uint64_t problems = 0;                          ///< so many of these problems had one
  std::optional<ProfileEstimate> published_score{};    ///< the paper's: a difference of margins
  std::optional<ProfileEstimate> safe{};               ///< share of segments of which the large model refuses nothing
  std::uint64_t places = 0, flips = 0, own_flips = 0;  ///< of the proof; without one 0
  std::optional<ProfileEstimate> loss{};               ///< what a handoff loses, as a share of answers; from the proof
  bool operator==(const CueEvidence&) const = default;
};

/// Where calibrated cues come from. Nothing in it depends on when or where the calibration ran.
struct ProfileCalibration {
  std::string program{};   ///< name and version
  std::string settings{};  ///< a JSON object, for people and for repeating it
  std::uint64_t problems = 0, traces = 0, tokens = 0;
  std::optional<ProfileEstimate> share{};     ///< of tokens that the small model writes, on problems kept for this
  std::vector<std::string> problem_hashes{};  ///< question_hash of each problem, sorted
  bool operator==(const ProfileCalibration&) const = default;
};

/// Thresholds for modes that look at probabilities; absent: not calibrated.
struct ProfileThresholds {
  std::optional<double> guard_margin{};    ///< the small model hands back where its margin is below, in [0, 1]
  std::optional<double> verify_epsilon{};  ///< typical criterion: p >= min(epsilon, delta * exp(-entropy)), in (0, 1)
  std::optional<double> verify_delta{};
  std::optional<double> draft_acceptance{};  ///< share of places at which both models' first choices agree, in (0, 1)
  bool operator==(const ProfileThresholds&) const = default;
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
  bool small_may_answer = false;        ///< evidence exists that the small model answers as well as the large one
  std::string answer_evidence{};        ///< what that evidence is
  std::vector<CueEvidence> evidence{};  ///< of each cue, in the same order; or empty
  std::optional<ProfileCalibration> calibration{};
  ProfileThresholds thresholds{};
};

/// What stands for a question in a profile: 16 hex digits. White space at its ends does not count.
[[nodiscard]] std::string question_hash(std::string_view question);

/// Parses a profile. `source` names it in messages. Unknown keys are ignored (a later version may add some), a later
/// major version is refused. Errors: bad_profile with the key and what is wrong with it.
[[nodiscard]] Result<Profile> parse_profile(std::string_view json, std::string_view source);
[[nodiscard]] Result<Profile> read_profile(const std::filesystem::path& file);

/// The profile as JSON text, ending in a line break; parse_profile reads the same profile back.
[[nodiscard]] std::string write_profile(const Profile& profile);

}  // namespace relaygen
