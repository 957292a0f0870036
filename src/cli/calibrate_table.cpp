#include "cli/calibrate_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace relaygen::cli {
namespace {

using calibrate::Candidate;
using calibrate::Decision;
using calibrate::Interval;

std::string percent(const Interval& interval) {
  return fmt::format("{:.0f}% ({:.0f} to {:.0f})", 100 * interval.value, 100 * interval.low, 100 * interval.high);
}

std::string score(const Interval& interval) {
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", interval.value, interval.low, interval.high);
}

std::string proof(const Candidate& candidate) {
  if (!candidate.proof) return "";
  const auto& proof = *candidate.proof;
  return fmt::format("{} and {} of {}", proof.flips, proof.own_flips, proof.places);
}

std::string loss(const Candidate& candidate) {
  if (!candidate.proof) return "";
  const Interval& loss = candidate.proof->loss;
  return fmt::format("{:+.0f} ({:+.0f} to {:+.0f})", 100 * loss.value, 100 * loss.low, 100 * loss.high);
}

}  // namespace

std::string calibration_table(const calibrate::Analysis& analysis, const calibrate::Findings& findings,
                              const std::string& file) {
  std::vector<const Candidate*> frequent;
  std::size_t rare = 0;
  for (const Candidate& one : analysis.candidates) {
    if (one.decision != Decision::rare) frequent.push_back(&one);
    rare += one.decision == Decision::rare && one.score.count > 0;
  }
  std::ranges::stable_sort(frequent, std::greater<>(), [](const Candidate* one) {
    return std::pair(one->selected(), one->score.judged ? one->score.safe.value : one->score.published.value);
  });
  const auto selected = std::ranges::count_if(frequent, &Candidate::selected);
  std::string text =
      fmt::format("{} problems, {} traces, {} tokens; {} candidates occur often enough, {} too rarely\n\n",
                  analysis.problems.size(), analysis.traces, analysis.tokens, frequent.size(), rare);
  text += fmt::format("{:<20}{:<11}{:>6}{:>9}  {:<20}{:<27}{:<16}{}\n", "candidate", "decision", "count", "problems",
                      "nothing refused", "paper's score", "flips and own", "loss, points");
  for (const Candidate* one : frequent) {
    text += fmt::format("{:<20}{:<11}{:>6}{:>9}  {:<20}{:<27}{:<16}{}\n", one->text, name(one->decision),
                        one->score.count, one->score.problems, one->score.judged ? percent(one->score.safe) : "",
                        score(one->score.published), proof(*one), loss(*one));
  }
  const auto& handover = findings.handover;
  text += fmt::format("\n{} cues hand over {} of the thinking in {:.1f} segments a trace", selected,
                      percent(handover.share_of_thinking), handover.handoffs);
  const auto& answers = findings.answers;
  if (answers.compared > 0) {
    text += fmt::format("; the small model's answer is the large one's in {} of {}, so {} answers", answers.same,
                        answers.compared, answers.small_may_answer() ? "it" : "the large one");
  }
  text += ".\n";
  if (selected == 0) text += "No candidate qualifies: the relay of this profile hands nothing over but the answer.\n";
  if (!file.empty()) text += fmt::format("The profile is in {}: relaygen run --profile {} ...\n", file, file);
  return text;
}

}  // namespace relaygen::cli
