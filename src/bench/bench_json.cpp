#include "bench/bench_json.h"

#include <array>

#include "core/statistics.h"

namespace relaygen::bench {
namespace {

OrderedJson estimate(std::span<const double> values, double factor = 1) {
  if (values.empty()) return nullptr;
  const auto m = median(values);
  return {{"value", factor * m.value}, {"low", factor * m.low}, {"high", factor * m.high}};
}

OrderedJson cost_to_json(Model model, const BatchCost& cost) {
  return {{"model", name(model)}, {"depth", cost.depth}, {"rows", cost.rows}, {"seconds", cost.seconds}};
}

OrderedJson segments_to_json(const BenchRow& row) {
  OrderedJson texts = OrderedJson::array();
  for (const auto& segments : row.segments) {
    OrderedJson text = OrderedJson::array();
    for (const Segment& segment : segments) text.push_back({name(segment.author), segment.tokens});
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

OrderedJson parts_to_json(const PartTimes& actual, const PartTimes& ideal, double other) {
  OrderedJson parts = OrderedJson::array();
  const bool priced = ideal.seconds() > 0;
  for (const Part part : kParts) {
    parts.push_back({{"part", name(part)},
                     {"batches", actual[part].batches},
                     {"rows", actual[part].rows},
                     {"actual", actual[part].seconds},
                     {"ideal", priced ? OrderedJson(ideal[part].seconds) : OrderedJson(nullptr)}});
  }
  parts.push_back({{"part", "other"}, {"batches", 0}, {"rows", 0}, {"actual", other}, {"ideal", nullptr}});
  return parts;
}

OrderedJson rows_to_json(const BenchResult& result) {
  OrderedJson rows = OrderedJson::array();
  for (const BenchRow& row : result.rows) {
    const auto tokens = static_cast<double>(row.usage.generated());
    OrderedJson json{{"policy", row.policy}, {"depth", row.depth}, {"seconds", estimate(row.seconds)}};
    json["ms_per_token"] = tokens > 0 ? estimate(row.seconds, 1e3 / tokens) : OrderedJson(nullptr);
    json["speed_up"] = estimate(row.speed_up);
    json["tokens"] = row.usage.generated();
    json["small_share"] = tokens > 0 ? static_cast<double>(row.usage.small) / tokens : 0.0;
    json["handoffs"] = row.usage.handoffs;
    json["dropped"] = row.usage.dropped;
    json["verified"] = row.usage.verified;
    json["refused"] = row.usage.refused;
    json["drafted"] = row.usage.drafted;
    json["accepted"] = row.usage.accepted;
    json["parts"] = parts_to_json(row.actual, row.ideal, row.other);
    json["ideal_seconds"] = row.over_ideal.empty() ? OrderedJson(nullptr) : OrderedJson(row.ideal.seconds());
    json["over_ideal"] = estimate(row.over_ideal);
    const auto overhead = handoff_overhead(row, result.rows.front());
    json["handoff_overhead_s"] = overhead ? OrderedJson(*overhead) : OrderedJson(nullptr);
    json["segments"] = segments_to_json(row);
    rows.push_back(std::move(json));
  }
  return rows;
}

OrderedJson costs_to_json(const BenchResult& result) {
  OrderedJson costs = OrderedJson::array();
  for (const auto& [model, cost] : result.costs) costs.push_back(cost_to_json(model, cost));
  return costs;
}

OrderedJson costs_to_json(const CostModel& model) {
  OrderedJson costs = OrderedJson::array();
  for (const BatchCost& cost : model.large.costs()) costs.push_back(cost_to_json(Model::large, cost));
  for (const BatchCost& cost : model.small.costs()) costs.push_back(cost_to_json(Model::small, cost));
  return costs;
}

std::optional<CostModel> costs_from_json(const OrderedJson& json) try {
  std::array<std::vector<BatchCost>, 2> costs;
  for (const auto& one : json.at("costs")) {
    const BatchCost cost{one.at("depth"), one.at("rows"), one.at("seconds")};
    if (cost.rows < 1 || !(cost.seconds > 0)) return std::nullopt;
    costs[one.at("model") == name(Model::large) ? 0 : 1].push_back(cost);
  }
  if (costs[0].empty() || costs[1].empty()) return std::nullopt;
  return CostModel{CostTable(costs[0]), CostTable(costs[1]), json.at("output_row_s").get<double>(),
                   json.at("choice_s").get<double>()};
} catch (const OrderedJson::exception&) {
  return std::nullopt;
}

}  // namespace relaygen::bench
