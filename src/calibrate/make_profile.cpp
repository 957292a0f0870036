#include "calibrate/make_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace relaygen::calibrate {
namespace {

// More digits than the intervals know would only differ from machine to machine.
double plain(double value) { return std::round(value * 1e5) / 1e5; }

ProfileEstimate estimate(const Interval& interval) {
  return {plain(interval.value), plain(interval.low), plain(interval.high)};
}

CueEvidence evidence_of(const Candidate& candidate) {
  CueEvidence evidence{.decision = std::string(name(candidate.decision)),
                       .count = candidate.score.count,
                       .problems = candidate.score.problems};
  if (candidate.score.count > 0) {
    evidence.published_score = estimate(candidate.score.published);
    if (candidate.score.judged) evidence.safe = estimate(candidate.score.safe);
  }
  if (candidate.proof) {
    evidence.places = candidate.proof->places;
    evidence.flips = candidate.proof->flips;
    evidence.own_flips = candidate.proof->own_flips;
    evidence.loss = estimate(candidate.proof->loss);
  }
  return evidence;
}

}  // namespace

OrderedJson settings_to_json(const AnalysisOptions& options) {
  OrderedJson json{{"rule", options.rule == Rule::published ? "published" : "effect"},
                   {"rules", options.rules == Rules::published ? "published" : "exact"},
                   {"discovery", options.discover},
                   {"min_count", options.min_count},
                   {"min_problems", options.min_problems},
                   {"false_rate", options.false_rate}};
  if (options.rule == Rule::effect) {
    json["min_safe"] = options.min_safe;
    json["max_loss"] = options.max_loss;
    json["typical"] = {{"epsilon", options.typical.epsilon}, {"delta", options.typical.delta}};
  }
  json["target_share"] = options.target_share ? OrderedJson(*options.target_share) : OrderedJson(nullptr);
  json["min_large_tokens"] = options.min_large_tokens;
  json["max_small_tokens"] = options.max_small_tokens;
  json["seed"] = options.seed;
  json["resamples"] = options.resamples;
  return json;
}

Profile make_profile(const Analysis& analysis, const Findings& findings, const ProfileNames& names) {
  const AnalysisOptions& options = analysis.options;
  Profile profile{.name = names.profile,
                  .provenance = fmt::format("calibrated on {} problems by the {} rule", analysis.problems.size(),
                                            options.rule == Rule::published ? "published" : "effect"),
                  .large = names.large,
                  .small = names.small,
                  .rules = options.rules,
                  .min_large_tokens = options.min_large_tokens,
                  .max_small_tokens = options.max_small_tokens};
  for (const Candidate& candidate : analysis.candidates) {
    profile.cues.push_back({candidate.text, candidate.selected()});
    profile.evidence.push_back(evidence_of(candidate));
  }
  const Answers& answers = findings.answers;
  profile.small_may_answer = answers.small_may_answer();
  if (answers.compared > 0) {
    profile.answer_evidence = fmt::format(
        "behind the same thinking the small model gave the large one's answer in {} of {} texts ({:.1f}%, 95% interval "
        "{:.1f} to {:.1f})",
        answers.same, answers.compared, 100 * answers.agreement.value, 100 * answers.agreement.low,
        100 * answers.agreement.high);
  }
  const Thresholds& thresholds = findings.thresholds;
  if (thresholds.verify_epsilon > 0) {
    profile.thresholds.verify_epsilon = std::max(1e-5, plain(thresholds.verify_epsilon));
    profile.thresholds.verify_delta = plain(std::sqrt(thresholds.verify_epsilon));
  }
  if (thresholds.draft_acceptance) profile.thresholds.draft_acceptance = plain(*thresholds.draft_acceptance);
  if (thresholds.guard_margin) profile.thresholds.guard_margin = plain(*thresholds.guard_margin);

  ProfileCalibration& calibration = profile.calibration.emplace();
  calibration.program = names.program;
  calibration.settings = settings_to_json(options).dump();
  calibration.problems = analysis.problems.size();
  calibration.traces = analysis.traces;
  calibration.tokens = analysis.tokens;
  calibration.share = estimate(findings.handover.share);
  for (const auto& problem : analysis.problems) calibration.problem_hashes.push_back(question_hash(problem.question));
  std::ranges::sort(calibration.problem_hashes);
  const auto copies = std::ranges::unique(calibration.problem_hashes);
  calibration.problem_hashes.erase(copies.begin(), copies.end());
  return profile;
}

}  // namespace relaygen::calibrate
