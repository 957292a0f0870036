#include "cli/eval_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace relaygen::cli {
namespace {

constexpr std::size_t kWidestName = 16;

std::string shortened(const std::string& name) {
  return name.size() <= kWidestName ? name : name.substr(0, kWidestName - 2) + "..";
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string points(double difference) {
  const double value = std::round(1000 * difference) / 10;
  return fmt::format("{:+.1f}", value == 0 ? 0.0 : value);
}

std::string with_thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string accuracy_of(const eval::PolicySummary& policy) {
  if (!policy.accuracy) return "-";
  const auto& one = *policy.accuracy;
  return fmt::format("{} ({:.1f} to {:.1f})", percent(one.value), 100 * one.low, 100 * one.high);
}

std::string difference_of(const eval::PolicySummary& policy) {
  if (!policy.difference) return "";
  const auto& one = *policy.difference;
  return fmt::format("{} ({} to {})", points(one.value), points(one.low), points(one.high));
}

std::string verdict_of(const eval::PolicySummary& policy) {
  if (!policy.verdict) return "";
  switch (policy.verdict->verdict) {
    case NonInferiority::kept: return "kept";
    case NonInferiority::lost: return "lost";
    case NonInferiority::undecided: break;
  }
  return policy.verdict->more_questions
             ? fmt::format("undecided, {} more", with_thousands(*policy.verdict->more_questions))
             : "undecided";
}

std::string speed_up_of(const eval::PolicySummary& policy) {
  if (!policy.speed_up) return "";
  const auto& one = *policy.speed_up;
  if (!std::isfinite(one.value)) return "-";
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", one.value, one.low, one.high);
}

std::string trimmed_line(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string head(const eval::Summary& summary) {
  const auto& dataset = summary.dataset;
  const std::string name = dataset.is_object() ? dataset.value("name", "the dataset") : "the dataset";
  std::string text =
      fmt::format("{}: {} {}", name, with_thousands(summary.problems), summary.problems == 1 ? "problem" : "problems");
  if (summary.samples > 1) text += fmt::format(", {} samples each", summary.samples);
  if (summary.policies.size() > 1) {
    text += fmt::format(". Compared with {}, a policy may lose {:g} points of accuracy", summary.baseline,
                        std::round(1e4 * summary.margin) / 100);
  }
  return text + ".\n\n";
}

std::string accuracy_block(const eval::Summary& summary) {
  std::string text = trimmed_line(fmt::format("{:<{}}  {:>5}  {:<24}{:<26}{}", "policy", kWidestName, "right",
                                              "accuracy", "difference (points)", "verdict"));
  for (const auto& policy : summary.policies) {
    const auto right = policy.verdicts[static_cast<std::size_t>(eval::Verdict::right)];
    text += trimmed_line(fmt::format("{:<{}}  {:>5}  {:<24}{:<26}{}", shortened(policy.name), kWidestName,
                                     with_thousands(right), accuracy_of(policy), difference_of(policy),
                                     verdict_of(policy)));
  }
  return text;
}

std::string cost_block(const eval::Summary& summary) {
  constexpr const char* kRow = "{:<{}}  {:>8}  {:>9}  {:<21}{:>8}  {:>6}  {:>8}  {:>9}";
  std::string text = trimmed_line(fmt::format(kRow, "policy", kWidestName, "outputs", "seconds", "speed-up", "tokens",
                                              "large", "handoffs", "cut short"));
  for (const auto& policy : summary.policies) {
    const double outputs = std::max(1.0, static_cast<double>(policy.outputs));
    text += trimmed_line(fmt::format(kRow, shortened(policy.name), kWidestName, with_thousands(policy.outputs),
                                     fmt::format("{:.1f}", policy.seconds), speed_up_of(policy),
                                     fmt::format("{:.1f}", policy.tokens_mean),
                                     policy.utilisation ? percent(*policy.utilisation) : "-",
                                     policy.handoffs ? fmt::format("{:.1f}", *policy.handoffs) : "-",
                                     percent(static_cast<double>(policy.truncated) / outputs)));
  }
  return text;
}

std::string comparison(const eval::PolicySummary& policy, const eval::Summary& summary) {
  if (!policy.verdict) return "";
  const double margin = std::round(1e4 * summary.margin) / 100;
  std::string text = fmt::format("{}: ", policy.name);
  switch (policy.verdict->verdict) {
    case NonInferiority::kept:
      text += fmt::format("the accuracy of {} is kept, to within {:g} points", summary.baseline, margin);
      break;
    case NonInferiority::lost:
      text += fmt::format("more than {:g} points of accuracy are lost against {}", margin, summary.baseline);
      break;
    case NonInferiority::undecided:
      text += fmt::format("these problems do not show whether more than {:g} points are lost", margin);
      text += policy.verdict->more_questions
                  ? fmt::format("; about {} more would, if the difference stays as it is",
                                with_thousands(*policy.verdict->more_questions))
                  : "; no number of problems that one could run would, if the difference stays as it is";
      break;
  }
  if (policy.mcnemar) {
    text += fmt::format(" ({} only in {}: {}, only in {}: {}, McNemar p = {:.2g})",
                        summary.samples == 1 ? "right" : "more often right", policy.name, policy.mcnemar->only_policy,
                        summary.baseline, policy.mcnemar->only_baseline, policy.mcnemar->p);
  }
  return text + ".\n";
}

}  // namespace

std::string eval_table(const eval::Summary& summary) {
  std::string text = head(summary) + accuracy_block(summary) + "\n" + cost_block(summary);
  std::string sentences;
  for (const auto& policy : summary.policies) sentences += comparison(policy, summary);
  for (const auto& note : summary.notes) sentences += note + "\n";
  if (!sentences.empty()) text += "\n" + sentences;
  return text;
}

}  // namespace relaygen::cli
