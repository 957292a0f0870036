// The named policies.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relaygen/profile.h"
#include "relaygen/relay.h"

namespace relaygen {

/// small | large | auto. auto: the small model where the profile holds evidence that it answers as well.
enum class AnswerBy : std::uint8_t { small, large, automatic };

/// large-only, small-only, relay, random, all-candidates, rejected-only (the candidates that were not selected: they
/// should do harm), answer-only; verified, which is short for relay+always+typical.
[[nodiscard]] std::span<const std::string_view> policy_names();

/// What a policy's name may be followed by, each with a '+' before it: draft (guess the large model's tokens ahead);
/// always or margin (hand over everywhere instead of at cues; margin with the guard); typical or strict (verify);
/// guard. As in "relay+typical+draft".
[[nodiscard]] std::span<const std::string_view> policy_modifiers();

/// Errors: usage, naming what is unknown and what there is.
[[nodiscard]] Status check_policy_name(std::string_view policy);

/// Whether a policy of this name fires on the cues of a profile.
[[nodiscard]] bool uses_cues(std::string_view policy);

/// What a policy needs of a request: the policy itself and the cues it fires on.
struct PreparedPolicy {
  Policy policy;
  CueSet cues;
};

struct PolicyChoice {
  std::string name = "relay";
  AnswerBy answer_by = AnswerBy::automatic;
  std::optional<std::uint32_t> min_large_tokens{};  ///< over the profile's, over the default
  std::optional<std::uint32_t> max_small_tokens{};
  double random_rate = 0;
  std::optional<double> guard_margin{};      ///< over the profile's
  std::optional<double> epsilon{}, delta{};  ///< of the typical criterion, likewise
  Drafting draft{.lookup = true,
                 .small_model = true};  ///< for +draft; its acceptance over the profile's only where that has none
};

/// Errors: usage, naming a setting that is given and means nothing for any of the policies that `names` lists.
[[nodiscard]] Status check_settings(std::span<const std::string> names, const PolicyChoice& choice);

/// Turns a name and a profile into a policy. Errors: usage (unknown name: the known ones are listed; a guard without a
/// threshold), bad_profile.
[[nodiscard]] Result<PreparedPolicy> prepare_policy(const PolicyChoice& choice, const Profile& profile);

}  // namespace relaygen
