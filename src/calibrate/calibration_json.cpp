#include "calibrate/calibration_json.h"

#include <algorithm>
#include <cmath>

namespace relaygen::calibrate {
namespace {

// Six digits are more than the intervals know.
double plain(double value) { return std::round(value * 1e6) / 1e6; }

OrderedJson interval_to_json(const Interval& interval) {
  return {{"value", plain(interval.value)}, {"low", plain(interval.low)}, {"high", plain(interval.high)}};
}

OrderedJson proof_to_json(const CueProof& proof) {
  return {{"places", proof.places},
          {"problems", proof.problems},
          {"flips", proof.flips},
          {"own_flips", proof.own_flips},
          {"flip_rate", interval_to_json(proof.flip_rate)},
          {"own_flip_rate", interval_to_json(proof.own_flip_rate)},
          {"loss", interval_to_json(proof.loss)},
          {"loss_of", proof.graded ? "right answers" : "answers"}};
}

OrderedJson candidate_to_json(const Candidate& candidate, const Histogram& margins) {
  const CueScore& score = candidate.score;
  OrderedJson json{{"text", candidate.text},
                   {"selected", candidate.selected()},
                   {"decision", name(candidate.decision)},
                   {"discovered", candidate.discovered},
                   {"count", score.count},
                   {"problems", score.problems},
                   {"tokens", score.tokens}};
  if (score.count == 0) return json;
  json["published_score"] = interval_to_json(score.published);
  json["published_p"] = plain(score.p_published);
  if (score.judged) {
    json["safe"] = interval_to_json(score.safe);
    json["safe_p"] = plain(score.p_safe);
    json["safe_against"] = interval_to_json(score.safe_against);
  }
  for (const Measure measure : kAllMeasures) {
    if (!score.judged && measure != Measure::small_margin && measure != Measure::agreement) continue;
    const auto i = static_cast<std::size_t>(measure);
    json["behind"][std::string(name(measure))] = interval_to_json(score.behind[i]);
    json["against"][std::string(name(measure))] = interval_to_json(score.against[i]);
  }
  json["proof"] = candidate.proof ? proof_to_json(*candidate.proof) : OrderedJson(nullptr);
  json["margins"] = margins;
  return json;
}

OrderedJson example_to_json(const ExampleTrace& example, const Analysis& analysis) {
  OrderedJson json{{"problem", example.key.problem}, {"sample", example.key.sample}};
  json["tokens"] = OrderedJson::array();
  for (std::size_t i = 0; i < example.pieces.size(); ++i) {
    OrderedJson token{{"text", example.pieces[i]}, {"small", plain(static_cast<double>(example.small_margin[i]))}};
    if (!example.large_margin.empty()) token["large"] = plain(static_cast<double>(example.large_margin[i]));
    json["tokens"].push_back(std::move(token));
  }
  json["handoffs"] = OrderedJson::array();
  for (const Occurrence& one : example.handoffs) {
    json["handoffs"].push_back(
        {{"cue", analysis.candidates[one.cue].text}, {"first", one.after.first}, {"last", one.after.last}});
  }
  return json;
}

OrderedJson answers_to_json(const Answers& answers) {
  OrderedJson json{{"compared", answers.compared},
                   {"same", answers.same},
                   {"agreement", interval_to_json(answers.agreement)},
                   {"small_may_answer", answers.small_may_answer()}};
  if (answers.right_large) json["right_large"] = plain(*answers.right_large);
  if (answers.right_small) json["right_small"] = plain(*answers.right_small);
  return json;
}

OrderedJson thresholds_to_json(const Thresholds& thresholds) {
  OrderedJson json{{"tokens", thresholds.tokens}};
  json["verify_epsilon"] =
      thresholds.verify_epsilon > 0 ? OrderedJson(plain(thresholds.verify_epsilon)) : OrderedJson(nullptr);
  json["guard_margin"] = thresholds.guard_margin ? OrderedJson(plain(*thresholds.guard_margin)) : OrderedJson(nullptr);
  json["draft_acceptance"] =
      thresholds.draft_acceptance ? OrderedJson(plain(*thresholds.draft_acceptance)) : OrderedJson(nullptr);
  json["guard_catches"] = plain(thresholds.guard_catches);
  json["guard_refused"] = thresholds.guard_refused;
  return json;
}

}  // namespace

OrderedJson calibration_to_json(const Analysis& analysis, const Findings& findings) {
  OrderedJson json;
  json["settings"] = settings_to_json(analysis.options);
  const auto in = [&](Split split) { return std::ranges::count(analysis.splits, split); };
  json["counts"] = {{"problems", analysis.problems.size()},
                    {"for_selection", in(Split::selection)},
                    {"for_thresholds", in(Split::thresholds)},
                    {"for_report", in(Split::report)},
                    {"traces", analysis.traces},
                    {"finished", analysis.finished},
                    {"tokens", analysis.tokens},
                    {"thinking_tokens", analysis.thinking_tokens}};
  json["selection_problems"] = OrderedJson::array();
  for (std::size_t i = 0; i < analysis.problems.size(); ++i) {
    if (analysis.splits[i] == Split::selection) json["selection_problems"].push_back(analysis.problems[i].id);
  }
  json["cues"] = OrderedJson::array();
  for (std::size_t i = 0; i < analysis.candidates.size(); ++i)
    json["cues"].push_back(candidate_to_json(analysis.candidates[i], findings.cue_margins[i]));
  json["handover"] = {{"apart", findings.apart},
                      {"share", interval_to_json(findings.handover.share)},
                      {"share_of_thinking", interval_to_json(findings.handover.share_of_thinking)},
                      {"handoffs", plain(findings.handover.handoffs)},
                      {"segment_tokens", plain(findings.handover.segment_tokens)}};
  json["steps"] = OrderedJson::array();
  for (const ShareStep& step : findings.steps)
    json["steps"].push_back({{"text", analysis.candidates[step.candidate].text}, {"share", plain(step.share)}});
  json["thresholds"] = thresholds_to_json(findings.thresholds);
  json["answers"] = answers_to_json(findings.answers);
  json["variance"] = {{"between", plain(findings.variance.between)},
                      {"within", plain(findings.variance.within)},
                      {"sentences", findings.variance.sentences},
                      {"tokens", findings.variance.tokens}};
  json["margins"] = findings.all_margins;
  json["example"] = findings.example ? example_to_json(*findings.example, analysis) : OrderedJson(nullptr);
  return json;
}

}  // namespace relaygen::calibrate
