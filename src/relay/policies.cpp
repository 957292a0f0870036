#include "relaygen/policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <new>

namespace relaygen {
namespace {

constexpr std::array<std::string_view, 7> kNames{"large-only",     "small-only",    "relay",      "random",
                                                 "all-candidates", "rejected-only", "answer-only"};

Model resolve(AnswerBy by, const Profile& profile) {
  if (by == AnswerBy::automatic) return profile.small_may_answer ? Model::small : Model::large;
  return by == AnswerBy::small ? Model::small : Model::large;
}

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

bool uses_cues(std::string_view policy) {
  return policy == "relay" || policy == "all-candidates" || policy == "rejected-only";
}

Result<PreparedPolicy> prepare_policy(const PolicyChoice& choice, const Profile& profile) try {
  Policy policy;
  policy.min_large_tokens =
      choice.min_large_tokens.value_or(profile.min_large_tokens.value_or(policy.min_large_tokens));
  policy.max_small_tokens =
      choice.max_small_tokens.value_or(profile.max_small_tokens.value_or(policy.max_small_tokens));
  policy.answer_by = resolve(choice.answer_by, profile);
  policy.handoffs = HandoffRule::never;
  std::vector<Cue> cues;

  if (choice.name == "relay") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
  } else if (choice.name == "all-candidates") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
    for (Cue& cue : cues) cue.selected = true;
  } else if (choice.name == "rejected-only") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
    for (Cue& cue : cues) cue.selected = !cue.selected;
  } else if (choice.name == "random") {
    policy.handoffs = HandoffRule::random;
    policy.random_rate = choice.random_rate;
  } else if (choice.name == "answer-only") {
    policy.answer_by = Model::small;
  } else if (choice.name == "large-only") {
    policy.answer_by = Model::large;
  } else if (choice.name == "small-only") {
    policy.thinker = Model::small;
    policy.answer_by = Model::small;
  } else {
    return fail(ErrorKind::usage, fmt::format("there is no policy '{}'", choice.name),
                fmt::format("choose one of {}", fmt::join(kNames, ", ")));
  }

  auto set = CueSet::build(cues, profile.rules);
  if (!set) return tl::unexpected(set.error());
  return PreparedPolicy{policy, std::move(*set)};
} catch (const std::bad_alloc&) {
  return fail(ErrorKind::out_of_memory, "out of memory", "free memory");
}

}  // namespace relaygen
