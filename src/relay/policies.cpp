#include "relaygen/policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace relaygen {
namespace {

constexpr std::array<std::string_view, 8> kNames{"large-only", "small-only",     "relay",         "verified",
                                                 "random",     "all-candidates", "rejected-only", "answer-only"};
constexpr std::array<std::string_view, 6> kModifiers{"draft", "always", "margin", "typical", "strict", "guard"};

// "relay+typical+draft" in parts.
struct NameParts {
  std::string_view base;
  std::vector<std::string_view> modifiers;
  [[nodiscard]] bool has(std::string_view modifier) const {
    return std::ranges::find(modifiers, modifier) != modifiers.end();
  }
};

NameParts parts_of(std::string_view name) {
  NameParts parts;
  const auto first = name.find('+');
  parts.base = name.substr(0, first);
  for (auto plus = first; plus != std::string_view::npos;) {
    const auto next = name.find('+', plus + 1);
    parts.modifiers.push_back(name.substr(plus + 1, next == std::string_view::npos ? next : next - plus - 1));
    plus = next;
  }
  if (parts.base == "verified") {
    parts.base = "relay";
    parts.modifiers.insert(parts.modifiers.end(), {"always", "typical"});
  }
  return parts;
}

Model resolve(AnswerBy by, const Profile& profile) {
  if (by == AnswerBy::automatic) return profile.small_may_answer ? Model::small : Model::large;
  return by == AnswerBy::small ? Model::small : Model::large;
}

// Who checks what: the modifiers of a name.
Status modify(const NameParts& parts, const PolicyChoice& choice, const Profile& profile, Policy& policy) {
  if (parts.has("always") || parts.has("margin")) policy.handoffs = HandoffRule::always;
  if (parts.has("typical")) policy.verify = Verification::typical;
  if (parts.has("strict")) policy.verify = Verification::strict;
  policy.typical.epsilon = choice.epsilon.value_or(profile.thresholds.verify_epsilon.value_or(policy.typical.epsilon));
  policy.typical.delta = choice.delta.value_or(profile.thresholds.verify_delta.value_or(policy.typical.delta));
  if (parts.has("guard") || parts.has("margin")) {
    const auto margin = choice.guard_margin ? choice.guard_margin : profile.thresholds.guard_margin;
    if (!margin) {
      return fail(ErrorKind::usage, "the profile has no margin for the guard",
                  "give --guard-margin X, for example 0.3");
    }
    policy.guard_margin = *margin;
  }
  if (parts.has("draft")) policy.draft = choice.draft;
  policy.draft.acceptance = profile.thresholds.draft_acceptance.value_or(policy.draft.acceptance);
  return std::monostate{};
}

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }
std::span<const std::string_view> policy_modifiers() { return kModifiers; }

bool uses_cues(std::string_view policy) {
  const NameParts parts = parts_of(policy);
  if (parts.has("always") || parts.has("margin")) return false;
  return parts.base == "relay" || parts.base == "all-candidates" || parts.base == "rejected-only";
}

Status check_policy_name(std::string_view policy) {
  const NameParts parts = parts_of(policy);
  if (std::ranges::find(kNames, parts.base) == kNames.end()) {
    return fail(ErrorKind::usage, fmt::format("there is no policy '{}'", parts.base),
                fmt::format("choose one of {}", fmt::join(kNames, ", ")));
  }
  for (const std::string_view modifier : parts.modifiers) {
    if (std::ranges::find(kModifiers, modifier) != kModifiers.end()) continue;
    return fail(ErrorKind::usage, fmt::format("a policy cannot be followed by '+{}'", modifier),
                fmt::format("choose from +{}", fmt::join(kModifiers, ", +")));
  }
  for (const auto& [one, other] : {std::pair{"typical", "strict"}, std::pair{"always", "margin"}}) {
    if (!parts.has(one) || !parts.has(other)) continue;
    return fail(ErrorKind::usage, fmt::format("'{}' asks for both {} and {}", policy, one, other), "choose one");
  }
  const bool hands_over = parts.base == "relay" || parts.base == "all-candidates" || parts.base == "rejected-only" ||
                          parts.base == "random";
  for (const std::string_view modifier : parts.modifiers) {
    if (modifier == "draft" ? parts.base != "small-only" : hands_over) continue;
    return fail(ErrorKind::usage, fmt::format("{} means nothing for the policy {}", modifier, parts.base),
                "leave it out");
  }
  return std::monostate{};
}

Status check_settings(std::span<const std::string> names, const PolicyChoice& choice) {
  const auto any_has = [&](std::initializer_list<std::string_view> modifiers) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      const NameParts parts = parts_of(name);
      return std::ranges::any_of(modifiers, [&](std::string_view modifier) { return parts.has(modifier); });
    });
  };
  if (choice.guard_margin && !any_has({"guard", "margin"}))
    return fail(ErrorKind::usage, "a guard's margin is given, and no guard", "add --guard, or +guard to a policy");
  if ((choice.epsilon || choice.delta) && !any_has({"typical"})) {
    return fail(ErrorKind::usage, "epsilon or delta is given, and nothing is verified by them",
                "add --verify typical, or +typical to a policy");
  }
  return std::monostate{};
}

Result<PreparedPolicy> prepare_policy(const PolicyChoice& choice, const Profile& profile) try {
  if (auto ok = check_policy_name(choice.name); !ok) return tl::unexpected(ok.error());
  const NameParts parts = parts_of(choice.name);
  Policy policy;
  policy.min_large_tokens =
      choice.min_large_tokens.value_or(profile.min_large_tokens.value_or(policy.min_large_tokens));
  policy.max_small_tokens =
      choice.max_small_tokens.value_or(profile.max_small_tokens.value_or(policy.max_small_tokens));
  policy.answer_by = resolve(choice.answer_by, profile);
  policy.handoffs = HandoffRule::never;
  std::vector<Cue> cues;

  if (parts.base == "relay") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
  } else if (parts.base == "all-candidates") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
    for (Cue& cue : cues) cue.selected = true;
  } else if (parts.base == "rejected-only") {
    policy.handoffs = HandoffRule::cues;
    cues = profile.cues;
    for (Cue& cue : cues) cue.selected = !cue.selected;
  } else if (parts.base == "random") {
    policy.handoffs = HandoffRule::random;
    policy.random_rate = choice.random_rate;
  } else if (parts.base == "answer-only") {
    policy.answer_by = Model::small;
  } else if (parts.base == "large-only") {
    policy.answer_by = Model::large;
  } else if (parts.base == "small-only") {
    policy.thinker = Model::small;
    policy.answer_by = Model::small;
  }
  if (auto ok = modify(parts, choice, profile, policy); !ok) return tl::unexpected(ok.error());

  auto set = CueSet::build(cues, profile.rules);
  if (!set) return tl::unexpected(set.error());
  return PreparedPolicy{policy, std::move(*set)};
} catch (const std::bad_alloc&) {
  return fail(ErrorKind::out_of_memory, "out of memory", "free memory");
}

}  // namespace relaygen
