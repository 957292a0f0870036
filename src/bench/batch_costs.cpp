#include "bench/batch_costs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace relaygen::bench {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Status fill_cache(Engine& engine, Model model, std::span<const TokenId> tokens) {
  auto held = static_cast<std::size_t>(engine.truncate(model, static_cast<std::int32_t>(tokens.size())));
  while (held < tokens.size()) {
    const std::size_t count = std::min(tokens.size() - held, static_cast<std::size_t>(engine.limits().batch));
    if (auto ok = engine.decode(model, tokens.subspan(held, count), 0); !ok) return tl::unexpected(ok.error());
    held += count;
  }
  return std::monostate{};
}

Result<std::vector<double>> time_batch(Engine& engine, Model model, std::span<const TokenId> tokens, std::int32_t rows,
                                       std::int32_t depth, const Effort& effort, const Clock& clock,
                                       std::int32_t outputs) {
  const auto batch = tokens.first(static_cast<std::size_t>(rows));
  std::vector<double> times;
  const double begin = clock();
  for (std::size_t i = 0; i < effort.warm_ups + effort.repeats; ++i) {
    if (times.size() >= 2 && clock() - begin > effort.seconds) break;
    if (engine.truncate(model, depth) != depth) {  // a cache that cannot be cut: any tokens make up the context
      const std::vector<TokenId> context(static_cast<std::size_t>(depth), tokens.front());
      if (auto ok = fill_cache(engine, model, context); !ok) return tl::unexpected(ok.error());
    }
    const double start = clock();
    if (auto ok = engine.decode(model, batch, outputs); !ok) return tl::unexpected(ok.error());
    if (i >= effort.warm_ups) times.push_back(clock() - start);
  }
  return times;
}

Result<std::vector<BatchCost>> measure_batches(Engine& engine, Model model, std::span<const std::int32_t> rows,
                                               std::int32_t depth, const Effort& effort, const Clock& clock,
                                               const std::function<void(std::size_t done)>& progress) {
  const EngineLimits limits = engine.limits();
  depth = std::clamp(depth, 1, std::max(1, limits.window / 2));
  const std::int32_t room = std::max(1, std::min(limits.batch, limits.window - depth));
  const std::vector<TokenId> tokens(static_cast<std::size_t>(std::max(depth, room)), 0);
  engine.set_owner(0);
  (void)engine.truncate(model, 0);
  if (auto ok = fill_cache(engine, model, std::span(tokens).first(static_cast<std::size_t>(depth))); !ok)
    return tl::unexpected(ok.error());
  std::vector<BatchCost> costs;
  for (const std::int32_t count : rows) {
    if (count > room) break;
    progress(costs.size());
    auto times = time_batch(engine, model, tokens, count, depth, effort, clock);
    if (!times) return tl::unexpected(times.error());
    costs.push_back({depth, count, mean(*times)});
  }
  (void)engine.truncate(model, 0);
  return costs;
}

Result<double> time_output_row(Engine& engine, std::span<const TokenId> tokens, std::int32_t depth,
                               const Clock& clock) {
  const EngineLimits limits = engine.limits();
  const std::int32_t rows = std::min({limits.output_rows, limits.batch, limits.window - depth,
                                      static_cast<std::int32_t>(tokens.size()), std::int32_t{16}});
  if (rows < 2) return 0.0;
  // In pairs, so that a machine that slows down meanwhile does so for both.
  constexpr std::size_t kPairs = 3;
  std::vector<double> differences;
  for (std::size_t i = 0; i < kPairs; ++i) {
    std::array<double, 2> seconds{};
    for (const bool all : {false, true}) {
      auto times = time_batch(engine, Model::large, tokens, rows, depth, {.warm_ups = 1, .repeats = 2, .seconds = 1},
                              clock, all ? rows : 1);
      if (!times) return tl::unexpected(times.error());
      seconds[static_cast<std::size_t>(all)] = *std::ranges::min_element(*times);
    }
    differences.push_back((seconds[1] - seconds[0]) / (rows - 1));
  }
  std::ranges::sort(differences);
  return std::max(0.0, differences[kPairs / 2]);
}

Result<double> time_output_row(Engine& engine, const Clock& clock) {
  const std::vector<TokenId> tokens(64, 0);
  auto seconds = time_output_row(engine, tokens, 0, clock);
  (void)engine.truncate(Model::large, 0);
  return seconds;
}

Result<double> time_choice(Engine& engine, const Clock& clock) {
  constexpr std::array<TokenId, 1> kToken{0};
  (void)engine.truncate(Model::large, 0);
  const auto rows = engine.decode(Model::large, kToken, 1);
  if (!rows) return tl::unexpected(rows.error());
  Sampler sampler;
  constexpr int kTimes = 8;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTimes; ++i) {
    const double begin = clock();
    (void)sampler.choose((*rows)[0], {}, 0);
    least = std::min(least, clock() - begin);
  }
  return least;
}

Result<CostModel> measure_usual_batches(Engine& engine, std::int32_t depth, const Clock& clock,
                                        const std::function<void(double share)>& progress) {
  constexpr std::array<std::int32_t, 11> kRows{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64};
  const Effort effort{.warm_ups = 1, .repeats = 5, .seconds = 0.5};
  CostModel costs;
  double before = 0;
  for (const Model model : {Model::large, Model::small}) {
    auto measured = measure_batches(engine, model, kRows, depth, effort, clock, [&](std::size_t done) {
      progress((before + static_cast<double>(done)) / (2.0 * kRows.size()));
    });
    if (!measured) return tl::unexpected(measured.error());
    (model == Model::large ? costs.large : costs.small) = CostTable(*measured);
    before += kRows.size();
  }
  auto output = time_output_row(engine, clock);
  if (!output) return tl::unexpected(output.error());
  costs.output_row = *output;
  auto choice = time_choice(engine, clock);
  if (!choice) return tl::unexpected(choice.error());
  costs.choice = *choice;
  (void)engine.truncate(Model::large, 0);
  return costs;
}

BatchSizes sizes_of(std::span<const Batch> schedule, Model model) {
  BatchSizes sizes;
  for (const Batch& batch : schedule) {
    if (batch.model == model) ++sizes[batch.rows];
  }
  return sizes;
}

Result<std::vector<BatchCost>> time_sizes(Engine& engine, Model model, std::span<const TokenId> tokens,
                                          const BatchSizes& sizes, std::int32_t depth, const Clock& clock) {
  constexpr std::size_t kLeast = 2, kMost = 8;  // timed decodes of one size
  std::vector<BatchCost> costs;
  for (const auto& [rows, count] : sizes) {
    if (static_cast<std::size_t>(rows) > tokens.size()) continue;
    const Effort effort{.warm_ups = 1, .repeats = std::clamp(count / 4, kLeast, kMost)};
    auto times = time_batch(engine, model, tokens, rows, depth, effort, clock);
    if (!times) return tl::unexpected(times.error());
    costs.push_back({depth, rows, mean(*times)});
  }
  (void)engine.truncate(model, depth);
  return costs;
}

Result<CostModel> price_schedule(Engine& engine, std::span<const Batch> schedule, const Clock& clock) {
  engine.set_owner(0);
  std::array<CostTable, 2> tables;
  for (const Model model : {Model::large, Model::small}) {
    std::map<std::int32_t, BatchSizes> by_depth;
    BatchSizes usual;
    std::int32_t least = std::numeric_limits<std::int32_t>::max(), greatest = 0, end = 1;
    for (const Batch& batch : schedule) {
      if (batch.model != model) continue;
      end = std::max(end, batch.depth + batch.rows);
      if (batch.part == Part::prefill) {
        ++by_depth[batch.depth][batch.rows];
      } else {
        ++usual[batch.rows];
        least = std::min(least, batch.depth);
        greatest = std::max(greatest, batch.depth);
      }
    }
    if (!usual.empty()) {
      by_depth.try_emplace(least);
      by_depth.try_emplace(greatest);
      for (auto& [depth, sizes] : by_depth) {  // between two depths that lack a size nothing could be interpolated
        if (depth >= least && depth <= greatest) sizes.insert(usual.begin(), usual.end());
      }
    }
    const std::vector<TokenId> tokens(static_cast<std::size_t>(end), 0);
    std::vector<BatchCost> costs;
    (void)engine.truncate(model, 0);
    for (const auto& [depth, sizes] : by_depth) {
      if (auto ok = fill_cache(engine, model, std::span(tokens).first(static_cast<std::size_t>(depth))); !ok)
        return tl::unexpected(ok.error());
      auto times = time_sizes(engine, model, tokens, sizes, depth, clock);
      if (!times) return tl::unexpected(times.error());
      costs.insert(costs.end(), times->begin(), times->end());
    }
    (void)engine.truncate(model, 0);
    tables[static_cast<std::size_t>(model)] = CostTable(costs);
  }
  auto output = time_output_row(engine, clock);
  if (!output) return tl::unexpected(output.error());
  return CostModel{std::move(tables[0]), std::move(tables[1]), *output};
}

}  // namespace relaygen::bench
