#include <fmt/core.h>

#include <cmath>

#include "eval/summary.h"

namespace relaygen::eval {
namespace {

constexpr std::size_t kMostLengths = 5000;

OrderedJson number(double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

template <typename T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson to_json(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"value", number(estimate->value)}, {"low", number(estimate->low)}, {"high", number(estimate->high)}};
}

OrderedJson time_to_json(const PolicySummary& policy) {
  if (!policy.time) return nullptr;
  const auto& time = *policy.time;
  const double other =
      policy.seconds - time.prefill - time.large_decode - time.small_decode - time.catch_up - time.verify;
  return {{"prefill", time.prefill},
          {"large_decode", time.large_decode},
          {"small_decode", time.small_decode},
          {"catch_up", time.catch_up},
          {"verify", time.verify},
          {"other", other}};
}

OrderedJson policy_to_json(const PolicySummary& policy) {
  OrderedJson json{{"name", policy.name},       {"endpoint", or_null(policy.endpoint)},
                   {"outputs", policy.outputs}, {"errors", policy.errors},
                   {"missing", policy.missing}, {"compared", policy.compared}};
  json["accuracy"] = to_json(policy.accuracy);
  json["difference"] = to_json(policy.difference);
  json["mcnemar"] = nullptr;
  if (policy.mcnemar) {
    json["mcnemar"] = {{"only_baseline", policy.mcnemar->only_baseline},
                       {"only_policy", policy.mcnemar->only_policy},
                       {"p", policy.mcnemar->p}};
  }
  json["verdict"] = nullptr;
  if (policy.verdict) {
    json["verdict"] = {{"kind", name(policy.verdict->verdict)},
                       {"more_questions", or_null(policy.verdict->more_questions)}};
  }
  json["verdicts"] = OrderedJson::object();
  for (const Verdict one :
       {Verdict::right, Verdict::wrong, Verdict::no_answer, Verdict::unfinished, Verdict::ungraded}) {
    const auto count = policy.verdicts[static_cast<std::size_t>(one)];
    if (one != Verdict::ungraded || count > 0) json["verdicts"][std::string(name(one))] = count;
  }
  json["seconds"] = policy.seconds;
  json["speed_up"] = to_json(policy.speed_up);
  json["tokens"] = {{"mean", policy.tokens_mean},
                    {"median", policy.tokens_median},
                    {"p90", policy.tokens_p90},
                    {"thinking_mean", or_null(policy.thinking_mean)},
                    {"answer_mean", or_null(policy.answer_mean)}};
  json["utilisation"] = or_null(policy.utilisation);
  json["small_share"] = or_null(policy.small_share);
  json["handoffs"] = or_null(policy.handoffs);
  json["truncated"] =
      policy.outputs == 0 ? 0.0 : static_cast<double>(policy.truncated) / static_cast<double>(policy.outputs);
  json["time"] = time_to_json(policy);
  json["lengths"] = std::vector<std::uint64_t>(
      policy.lengths.begin(),
      policy.lengths.begin() + static_cast<std::ptrdiff_t>(std::min(kMostLengths, policy.lengths.size())));
  return json;
}

OrderedJson segments_to_json(const Output& output) {
  auto json = OrderedJson::array();
  for (const auto& segment : output.segments) {
    if (segment.begin > segment.end || segment.end > output.text.size()) continue;
    json.push_back(
        {{"author", segment.author}, {"text", output.text.substr(segment.begin, segment.end - segment.begin)}});
  }
  if (json.empty() && !output.text.empty()) json.push_back({{"author", "endpoint"}, {"text", output.text}});
  return json;
}

OrderedJson disagreement_to_json(const Disagreement& one) {
  OrderedJson json{{"problem", one.problem.problem.id},
                   {"question", one.problem.problem.question},
                   {"expected", one.problem.problem.expected}};
  json["outputs"] = OrderedJson::array();
  for (const auto& side : one.sides) {
    json["outputs"].push_back({{"policy", side.policy},
                               {"answer", side.answer},
                               {"verdict", name(side.verdict)},
                               {"tokens", side.stored.output.tokens.generated},
                               {"segments", segments_to_json(side.stored.output)}});
  }
  return json;
}

OrderedJson text_of(const OrderedJson& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : OrderedJson(nullptr);
}

std::string title_of(const Summary& summary) {
  std::string names;
  for (const auto& policy : summary.policies) names += (names.empty() ? "" : ", ") + policy.name;
  const auto dataset = text_of(summary.dataset, "name");
  return fmt::format("{} on {}, {} {}", names, dataset.is_string() ? dataset.get<std::string>() : "a dataset",
                     summary.problems, summary.problems == 1 ? "problem" : "problems");
}

}  // namespace

OrderedJson summary_to_json(const Summary& summary, const ReportOrigin& origin) {
  OrderedJson json{{"kind", "eval"},
                   {"title", title_of(summary)},
                   {"created", utc_now()},
                   {"program", origin.program},
                   {"command", origin.command}};
  json["machine"] = summary.runs.empty() ? OrderedJson::object() : summary.runs.back().machine;
  json["models"] = {{"large", text_of(summary.pair, "large")}, {"small", text_of(summary.pair, "small")}};
  json["profile"] = text_of(summary.pair, "profile");
  json["notes"] = summary.notes;
  json["dataset"] = {{"name", text_of(summary.dataset, "name")},
                     {"file", text_of(summary.dataset, "file")},
                     {"problems", summary.problems},
                     {"samples", summary.samples},
                     {"kind", name(summary.kind)}};
  json["settings"] = summary.settings;
  json["baseline"] = summary.baseline;
  json["margin"] = summary.margin;
  json["policies"] = OrderedJson::array();
  for (const auto& policy : summary.policies) json["policies"].push_back(policy_to_json(policy));
  json["disagreements"] = OrderedJson::array();
  for (const auto& one : summary.disagreements) json["disagreements"].push_back(disagreement_to_json(one));
  return json;
}

}  // namespace relaygen::eval
