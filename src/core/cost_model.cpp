#include "relaygen/cost_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/draft_length.h"

namespace relaygen {

std::string_view name(Part part) {
  switch (part) {
    case Part::prefill: return "prefill";
    case Part::large_decode: return "large decode";
    case Part::small_decode: return "small decode";
    case Part::catch_up: return "catch-up";
    case Part::verify: return "verify";
  }
  return "?";
}

Part part_of(Model model, std::int64_t rows, std::int64_t output_rows, std::int64_t depth, std::int64_t prompt_tokens) {
  if (depth < prompt_tokens) return Part::prefill;
  if (model == Model::large && output_rows > 1) return Part::verify;
  if (rows > 1) return Part::catch_up;
  return model == Model::large ? Part::large_decode : Part::small_decode;
}

CostTable::CostTable(std::span<const BatchCost> costs) {
  std::map<std::int32_t, std::map<std::int32_t, double>> sorted;
  for (const BatchCost& cost : costs) sorted[cost.depth][cost.rows] = cost.seconds;
  for (const auto& [depth, rows] : sorted) {
    Curve curve{static_cast<double>(depth), {}};
    for (const auto& [count, seconds] : rows) curve.rows.push_back({static_cast<double>(count), seconds});
    curves_.push_back(std::move(curve));
  }
}

double CostTable::between(std::span<const Point> points, double at) {
  if (points.size() == 1) return points[0].seconds;
  std::size_t upper = 1;
  while (upper + 1 < points.size() && points[upper].at < at) ++upper;
  const Point& a = points[upper - 1];
  const Point& b = points[upper];
  return a.seconds + (b.seconds - a.seconds) / (b.at - a.at) * (at - a.at);
}

double CostTable::seconds(double rows, double depth) const {
  if (curves_.empty()) return 0;
  if (curves_.size() == 1) return std::max(0.0, between(curves_[0].rows, rows));
  std::size_t upper = 1;
  while (upper + 1 < curves_.size() && curves_[upper].depth < depth) ++upper;
  const auto at = [&](const Curve& curve) { return Point{curve.depth, between(curve.rows, rows)}; };
  const std::array<Point, 2> ends{at(curves_[upper - 1]), at(curves_[upper])};
  return std::max(0.0, between(ends, depth));
}

std::vector<BatchCost> CostTable::costs() const {
  std::vector<BatchCost> all;
  for (const Curve& curve : curves_) {
    for (const Point& point : curve.rows)
      all.push_back({static_cast<std::int32_t>(curve.depth), static_cast<std::int32_t>(point.at), point.seconds});
  }
  return all;
}

double PartTimes::seconds() const {
  double sum = 0;
  for (const One& one : parts) sum += one.seconds;
  return sum;
}

PartTimes& PartTimes::operator+=(const PartTimes& other) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].batches += other.parts[i].batches;
    parts[i].rows += other.parts[i].rows;
    parts[i].seconds += other.parts[i].seconds;
  }
  return *this;
}

PartTimes ideal_time(std::span<const Batch> schedule, const CostModel& costs) {
  PartTimes times;
  for (const Batch& batch : schedule) {
    PartTimes::One& part = times[batch.part];
    part.batches += 1;
    part.rows += static_cast<std::uint64_t>(batch.rows);
    part.seconds += costs.seconds(batch);
  }
  return times;
}

namespace {

// The large model checks so many tokens of the small one, and writes one.
double checked_seconds(const CostModel& costs, double tokens, double depth) {
  return costs.large.seconds(1 + tokens, depth) +
         tokens * (costs.output_row + costs.small.seconds(1, depth) + 2 * costs.choice);
}

}  // namespace

double drafted_rate(const CostModel& costs, double acceptance, double depth) {
  constexpr std::size_t kLongest = 31;
  return best_draft_length({}, acceptance, 1, acceptance > 0 ? kLongest : 0,
                           [&](std::size_t k) { return checked_seconds(costs, static_cast<double>(k), depth); })
      .rate;
}

std::uint32_t longest_trial(const CostModel& costs, double depth) {
  constexpr double kAgreed = 0.95;
  std::uint32_t best = 3;
  double best_rate = 0;
  for (const std::uint32_t tokens : {3U, 7U, 15U, 31U, 63U}) {
    const auto k = static_cast<double>(tokens);
    const double expected = (1 - std::pow(kAgreed, k + 1)) / (1 - kAgreed);
    const double rate = expected / checked_seconds(costs, k, depth);
    if (rate <= best_rate) continue;
    best = tokens;
    best_rate = rate;
  }
  return best;
}

double relay_speed_up(const CostModel& costs, double share, double segment, double depth, double acceptance) {
  const double own = std::max(1.0, segment * (1 - share) / share);  // tokens of the large model in a cycle
  const double token = 1 / drafted_rate(costs, acceptance, depth);
  const double catch_up = acceptance > 0 ? 1 : own + 1;  // who guesses is in step
  const double relay = (own - 1) * token + costs.large.seconds(segment + 1, depth) +
                       costs.small.seconds(catch_up, depth) + segment * costs.small.seconds(1, depth);
  return (own + segment) * token / relay;
}

}  // namespace relaygen
