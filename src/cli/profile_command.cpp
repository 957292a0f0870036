// relaygen profile: looks at profiles.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/session.h"
#include "relaygen/profile.h"

namespace relaygen::cli {
namespace {

std::string model_line(const ProfileModel& model) {
  return fmt::format("{}{}", model.name.empty() ? "unknown" : model.name,
                     model.vocabulary.empty() ? "" : fmt::format(" (vocabulary {})", model.vocabulary));
}

std::string percent(const std::optional<ProfileEstimate>& estimate) {
  if (!estimate) return "";
  return fmt::format("{:.0f}% ({:.0f} to {:.0f})", 100 * estimate->value, 100 * estimate->low, 100 * estimate->high);
}

std::string score(const std::optional<ProfileEstimate>& estimate) {
  return estimate ? fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", estimate->value, estimate->low, estimate->high) : "";
}

std::string points(const std::optional<ProfileEstimate>& estimate) {
  if (!estimate) return "";
  return fmt::format("{:+.1f} ({:+.1f} to {:+.1f})", 100 * estimate->value, 100 * estimate->low, 100 * estimate->high);
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

void print_cues(const Profile& profile, bool selected) {
  const bool evidence = !profile.evidence.empty();
  if (evidence) {
    out("  {:<22}{:>7}{:>10}{:>22}{:>28}{:>28}\n", "cue", "count", "problems", "refused nothing of", "paper's score",
        "a handoff loses, points");
  }
  std::size_t absent = 0;
  for (std::size_t i = 0; i < profile.cues.size(); ++i) {
    if (profile.cues[i].selected != selected) continue;
    if (!selected && evidence && profile.evidence[i].count == 0) {
      ++absent;
      continue;
    }
    if (!evidence) {
      out("  {}\n", quoted(profile.cues[i].text));
      continue;
    }
    const CueEvidence& one = profile.evidence[i];
    out("  {:<22}{:>7}{:>10}{:>22}{:>28}{:>28}{}\n", quoted(profile.cues[i].text), one.count, one.problems,
        percent(one.safe), score(one.published_score), points(one.loss), selected ? "" : "  " + one.decision);
  }
  if (absent > 0) out("  and {} that did not occur\n", absent);
}

Result<int> show(const std::string& file) {
  const auto profile = read_profile(file);
  if (!profile) return tl::unexpected(profile.error());
  const auto selected = std::ranges::count_if(profile->cues, &Cue::selected);
  out("{}\n", profile->name.empty() ? "(no name)" : profile->name);
  if (!profile->provenance.empty()) out("{}\n", profile->provenance);
  out("large model    {}\nsmall model    {}\n", model_line(profile->large), model_line(profile->small));
  out("rules          {}\n", profile->rules == Rules::exact ? "exact" : "published");
  if (profile->min_large_tokens) out("a cue counts   after {} tokens of the large model\n", *profile->min_large_tokens);
  if (profile->max_small_tokens) out("small segments at most {} tokens\n", *profile->max_small_tokens);
  out("answers        by the {} model{}\n", profile->small_may_answer ? "small" : "large",
      profile->answer_evidence.empty() ? "" : ": " + profile->answer_evidence);
  if (const auto& thresholds = profile->thresholds; thresholds.guard_margin || thresholds.verify_epsilon) {
    out("thresholds     guard {:.3f}, verification epsilon {:.4f}, delta {:.4f}\n", thresholds.guard_margin.value_or(0),
        thresholds.verify_epsilon.value_or(0), thresholds.verify_delta.value_or(0));
  }
  if (const auto& calibration = profile->calibration) {
    out("calibrated on  {} problems, {} traces, {} tokens, by {}\n", calibration->problems, calibration->traces,
        calibration->tokens, calibration->program);
    if (calibration->share) out("small share    {} of the tokens\n", percent(calibration->share));
  }
  out("\n{} of {} candidates are cues:\n", selected, profile->cues.size());
  print_cues(*profile, true);
  if (static_cast<std::size_t>(selected) < profile->cues.size()) {
    out("\nknown, and no cues:\n");
    print_cues(*profile, false);
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return 0;
}

Result<int> validate(const std::vector<std::string>& files) {
  for (const auto& file : files) {
    const auto profile = read_profile(file);
    if (!profile) return tl::unexpected(profile.error());
    out("{}: {} of {} candidates are cues\n", file, std::ranges::count_if(profile->cues, &Cue::selected),
        profile->cues.size());
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return 0;
}

// Prints the differences that matter to a relay. 0: none, 1: some, as diff.
Result<int> diff(const std::string& left_file, const std::string& right_file) {
  const auto left = read_profile(left_file);
  if (!left) return tl::unexpected(left.error());
  const auto right = read_profile(right_file);
  if (!right) return tl::unexpected(right.error());
  bool differs = false;
  const auto compare = [&](std::string_view what, const auto& a, const auto& b) {
    if (a == b) return;
    differs = true;
    out("{}: {} -> {}\n", what, a, b);
  };
  const auto number = [](const std::optional<std::uint32_t>& value) {
    return value ? std::to_string(*value) : std::string("default");
  };
  const auto threshold = [](const std::optional<double>& value) {
    return value ? fmt::format("{:g}", *value) : std::string("none");
  };
  const auto rules = [](const Profile& one) { return one.rules == Rules::exact ? "exact" : "published"; };
  compare("large model", model_line(left->large), model_line(right->large));
  compare("small model", model_line(left->small), model_line(right->small));
  compare("rules", std::string(rules(*left)), std::string(rules(*right)));
  compare("min_large_tokens", number(left->min_large_tokens), number(right->min_large_tokens));
  compare("max_small_tokens", number(left->max_small_tokens), number(right->max_small_tokens));
  compare("answers by", std::string(left->small_may_answer ? "small" : "large"),
          std::string(right->small_may_answer ? "small" : "large"));
  compare("guard_margin", threshold(left->thresholds.guard_margin), threshold(right->thresholds.guard_margin));
  compare("verify_epsilon", threshold(left->thresholds.verify_epsilon), threshold(right->thresholds.verify_epsilon));
  compare("verify_delta", threshold(left->thresholds.verify_delta), threshold(right->thresholds.verify_delta));
  compare("draft_acceptance", threshold(left->thresholds.draft_acceptance),
          threshold(right->thresholds.draft_acceptance));

  const auto states_of = [](const Profile& profile) {
    std::map<std::string, std::string> states;
    for (std::size_t i = 0; i < profile.cues.size(); ++i) {
      const bool selected = profile.cues[i].selected;
      const bool told = !selected && i < profile.evidence.size() && !profile.evidence[i].decision.empty();
      states[profile.cues[i].text] = selected ? "selected" : told ? profile.evidence[i].decision : "not selected";
    }
    return states;
  };
  const auto before = states_of(*left), after = states_of(*right);
  for (const auto& [text, state] : before) {
    const auto found = after.find(text);
    compare(quoted(text), state, found == after.end() ? std::string("unknown") : found->second);
  }
  for (const auto& [text, state] : after) {
    if (!before.contains(text)) compare(quoted(text), std::string("unknown"), state);
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return differs ? 1 : 0;
}

}  // namespace

void add_profile_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("profile", "show, compare and check profiles");
  command->require_subcommand(1);
  const auto files = std::make_shared<std::vector<std::string>>();
  const auto add = [&](const char* name, const char* what, int count, std::function<Result<int>()> run) {
    CLI::App* one = command->add_subcommand(name, what);
    CLI::Option* option = one->add_option("FILE", *files, "a profile")->required();
    if (count > 0) option->expected(count);
    one->callback([run = std::move(run), &code] {
      auto result = run();
      if (!result) print_error(result.error());
      code = result ? *result : exit_code(result.error().kind);
    });
  };
  add("show", "what a profile says, and why", 1, [files] { return show(files->front()); });
  add("diff", "how a second profile differs from a first; exit code 1 where it does", 2,
      [files] { return diff((*files)[0], (*files)[1]); });
  add("validate", "check profiles without using them", 0, [files] { return validate(*files); });
}

}  // namespace relaygen::cli
