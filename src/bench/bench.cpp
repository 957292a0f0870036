#include "bench/bench.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "bench/batch_costs.h"
#include "core/statistics.h"

namespace relaygen::bench {
namespace {

void scale(PartTimes& times, double factor) {
  for (PartTimes::One& one : times.parts) one.seconds *= factor;
}

// Collects accounts, text by text and repetition by repetition.
class Collector {
 public:
  Collector(std::span<const NamedPolicy> policies, std::size_t repetitions) : rows_(policies.size()) {
    for (std::size_t i = 0; i < policies.size(); ++i) {
      rows_[i].policy = policies[i].name;
      rows_[i].seconds.assign(repetitions, 0.0);
    }
    ideal_.assign(policies.size(), std::vector<double>(repetitions, 0.0));
  }

  void add_account(std::size_t policy, std::size_t repetition, const Account& account, const CostModel* costs) {
    BenchRow& row = rows_[policy];
    row.seconds[repetition] += account.seconds;
    row.actual += account.parts();
    row.other += account.other();
    if (costs != nullptr) {
      const PartTimes ideal = ideal_time(account.schedule, *costs);
      row.ideal += ideal;
      ideal_[policy][repetition] += ideal.seconds();
    }
    if (repetition == 0) {
      row.usage += account.usage;
      row.segments.push_back(account.segments);
    }
  }

  std::vector<BenchRow> finish(std::size_t repetitions) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      BenchRow& row = rows_[i];
      row.seconds.resize(repetitions);
      for (std::size_t r = 0; r < repetitions; ++r) {
        row.speed_up.push_back(rows_[0].seconds[r] / row.seconds[r]);
        if (ideal_[i][r] > 0) row.over_ideal.push_back(row.seconds[r] / ideal_[i][r] - 1);
      }
      const double share = 1.0 / static_cast<double>(repetitions);
      scale(row.actual, share);
      scale(row.ideal, share);
      row.other *= share;
      for (PartTimes* times : {&row.actual, &row.ideal}) {
        for (PartTimes::One& one : times->parts) {
          one.batches /= repetitions;
          one.rows /= repetitions;
        }
      }
    }
    return std::move(rows_);
  }

 private:
  std::vector<BenchRow> rows_;
  std::vector<std::vector<double>> ideal_;
};

// Who goes first changes from repetition to repetition.
std::vector<std::size_t> order(std::size_t count, std::size_t repetition) {
  std::vector<std::size_t> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = (i + repetition) % count;
  return result;
}

using Samples = std::map<std::tuple<Model, std::int32_t, std::int32_t>, std::vector<double>>;

void keep(Samples& samples, Model model, const CostTable& table) {
  for (const BatchCost& cost : table.costs()) samples[{model, cost.depth, cost.rows}].push_back(cost.seconds);
}

std::vector<std::pair<Model, BatchCost>> medians(const Samples& samples) {
  std::vector<std::pair<Model, BatchCost>> costs;
  for (const auto& [key, values] : samples) {
    const auto& [model, depth, rows] = key;
    costs.emplace_back(model, BatchCost{depth, rows, median(values).value});
  }
  return costs;
}

// The windows once more on empty caches without models: what is left is the program's own time, the least of several.
Status run_dry(const Engine& engine, std::span<const Window> windows, std::span<const NamedPolicy> policies,
               const RunOptions& options, double acceptance, std::vector<BenchRow>& rows) {
  constexpr std::size_t kRepeats = 5;
  std::vector<double> least(policies.size(), std::numeric_limits<double>::infinity());
  for (std::size_t repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> seconds(policies.size(), 0.0);
    for (const Window& window : windows) {
      DryEngine dry(engine.vocabulary(), engine.limits());
      Replayer replayer(dry);
      if (auto ok = replayer.prepare(window); !ok) return tl::unexpected(ok.error());
      for (const std::size_t i : order(policies.size(), repeat)) {
        auto account = replayer.run(policies[i], options, acceptance);
        if (!account) return tl::unexpected(account.error());
        seconds[i] += account->seconds;
      }
    }
    for (std::size_t i = 0; i < policies.size(); ++i) least[i] = std::min(least[i], seconds[i]);
  }
  for (std::size_t i = 0; i < policies.size(); ++i) rows[i].dry = least[i];
  return std::monostate{};
}

}  // namespace

Result<BenchResult> bench_replay(Engine& engine, std::span<const Window> windows, std::span<const NamedPolicy> policies,
                                 const BenchOptions& options) {
  Collector collector(policies, options.repetitions);
  BenchResult result;
  Samples samples;
  Replayer replayer(engine);
  const RunOptions run_options{.events = {}, .cancel = options.cancel, .clock = options.clock, .costs = options.costs};
  const double steps = static_cast<double>(windows.size() * options.repetitions * policies.size());
  double done = 0;
  for (const Window& window : windows) {
    auto prefill = replayer.prepare(window);
    if (!prefill) return tl::unexpected(prefill.error());
    result.prefill += *prefill;

    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
      std::vector<Account> accounts(policies.size());
      Schedule all;
      for (const std::size_t i : order(policies.size(), repetition)) {
        if (options.progress) options.progress(done++ / steps);
        auto account = replayer.run(policies[i], run_options, options.acceptance);
        if (!account) return tl::unexpected(account.error());
        all.insert(all.end(), account->schedule.begin(), account->schedule.end());
        accounts[i] = std::move(*account);
      }
      auto costs = replayer.price(all, options.clock);
      if (!costs) return tl::unexpected(costs.error());
      keep(samples, Model::large, costs->large);
      keep(samples, Model::small, costs->small);
      for (std::size_t i = 0; i < policies.size(); ++i) collector.add_account(i, repetition, accounts[i], &*costs);
    }
  }
  result.rows = collector.finish(options.repetitions);
  for (BenchRow& row : result.rows) row.depth = windows.front().context;
  if (auto ok = run_dry(engine, windows, policies, run_options, options.acceptance, result.rows); !ok)
    return tl::unexpected(ok.error());
  result.costs = medians(samples);
  return result;
}

Result<BenchResult> bench_live(Engine& engine, std::span<const Request> requests, std::span<const NamedPolicy> policies,
                               const BenchOptions& options) {
  Collector collector(policies, options.repetitions);
  BenchResult result;
  Samples samples;
  RecordingEngine books(engine);
  const RunOptions run_options{.events = {}, .cancel = options.cancel, .clock = options.clock, .costs = options.costs};
  const double steps = static_cast<double>(requests.size() * options.repetitions * policies.size());
  double done = 0;
  struct Run {
    std::size_t policy, repetition;
    Account account;
  };
  std::vector<Run> accounts;
  warm_up(engine);
  for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
    for (const Request& request : requests) {
      for (const std::size_t i : order(policies.size(), repetition)) {
        if (options.progress) options.progress(done++ / steps);
        Request own = request;
        own.policy = policies[i].prepared.policy;
        own.cues = policies[i].prepared.cues;
        auto account = run_live(books, own, run_options);
        if (!account) return tl::unexpected(account.error());
        accounts.push_back({i, repetition, std::move(*account)});
      }
    }
  }
  std::optional<CostModel> costs;
  if (options.explain) {
    Schedule all;
    for (const Run& run : accounts) all.insert(all.end(), run.account.schedule.begin(), run.account.schedule.end());
    auto priced = price_schedule(engine, all, options.clock);
    if (!priced) return tl::unexpected(priced.error());
    costs = std::move(*priced);
    for (const Model model : {Model::large, Model::small})
      keep(samples, model, model == Model::large ? costs->large : costs->small);
  }
  for (const Run& run : accounts)
    collector.add_account(run.policy, run.repetition, run.account, costs ? &*costs : nullptr);
  result.costs = medians(samples);
  result.rows = collector.finish(options.repetitions);
  return result;
}

std::optional<double> handoff_overhead(const BenchRow& row, const BenchRow& baseline) {
  const auto is_checked = [](const Usage& usage) { return usage.drafted + usage.verified + usage.refused > 0; };
  if (row.usage.handoffs == 0 || row.dry == 0 || is_checked(row.usage) || is_checked(baseline.usage))
    return std::nullopt;
  return (row.dry - baseline.dry) / static_cast<double>(row.usage.handoffs);
}

}  // namespace relaygen::bench
