#include "cli/batch_cost.h"

#include <algorithm>

namespace relaygen::cli {

Result<std::vector<BatchCost>> measure_batches(Engine& engine, Model model, std::span<const std::int32_t> rows,
                                               const Clock& clock,
                                               const std::function<void(std::size_t done)>& progress) {
  constexpr std::int32_t kContext = 64;
  constexpr std::size_t kRepeats = 7;
  constexpr double kPatience = 6;  // seconds a size, at most
  const EngineLimits limits = engine.limits();
  const std::int32_t context = std::max(1, std::min({kContext, limits.batch, limits.window / 2}));
  const std::int32_t room = std::max(1, std::min(limits.batch, limits.window - context));
  const std::vector<TokenId> tokens(static_cast<std::size_t>(std::max(context, room)), 0);
  (void)engine.truncate(model, 0);
  if (auto ok = engine.decode(model, std::span(tokens).first(static_cast<std::size_t>(context)), 1); !ok)
    return tl::unexpected(ok.error());

  std::vector<BatchCost> costs;
  for (const std::int32_t count : rows) {
    if (count > room) break;
    progress(costs.size());
    std::vector<double> times;
    const double begin = clock();
    for (std::size_t repeat = 0; repeat <= kRepeats && (times.size() < 2 || clock() - begin < kPatience); ++repeat) {
      const std::int32_t kept = engine.truncate(model, context);
      if (kept != context) {  // a cache that cannot be cut: build the context again
        if (auto ok = engine.decode(model, std::span(tokens).first(static_cast<std::size_t>(context)), 1); !ok)
          return tl::unexpected(ok.error());
      }
      const double start = clock();
      if (auto ok = engine.decode(model, std::span(tokens).first(static_cast<std::size_t>(count)), 1); !ok)
        return tl::unexpected(ok.error());
      if (repeat > 0) times.push_back(clock() - start);  // the first one warms up
    }
    costs.push_back({count, *std::min_element(times.begin(), times.end())});
  }
  (void)engine.truncate(model, 0);
  return costs;
}

double cost_of(std::span<const BatchCost> costs, double rows) {
  if (costs.size() == 1) return costs[0].seconds;
  std::size_t upper = 1;
  while (upper + 1 < costs.size() && static_cast<double>(costs[upper].rows) < rows) ++upper;
  const BatchCost& a = costs[upper - 1];
  const BatchCost& b = costs[upper];
  const double slope = (b.seconds - a.seconds) / static_cast<double>(b.rows - a.rows);
  return std::max(0.0, a.seconds + slope * (rows - static_cast<double>(a.rows)));
}

double relay_speed_up(std::span<const BatchCost> large, std::span<const BatchCost> small, double share,
                      double segment) {
  const double own = std::max(1.0, segment * (1 - share) / share);  // tokens of the large model in a cycle
  const double alone = (own + segment) * cost_of(large, 1);
  const double relay = (own - 1) * cost_of(large, 1) + cost_of(large, segment + 1) + cost_of(small, own + 1) +
                       segment * cost_of(small, 1);
  return alone / relay;
}

}  // namespace relaygen::cli
