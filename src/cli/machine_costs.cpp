#include "cli/machine_costs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "bench/batch_costs.h"
#include "bench/bench_json.h"
#include "cli/provenance.h"
#include "cli/terminal.h"
#include "io/files.h"
#include "io/hashing.h"
#include "io/line_writer.h"

namespace relaygen::cli {
namespace {

constexpr std::int32_t kDepth = 256;  // tokens in the cache where batches are measured

std::optional<std::filesystem::path> cache_folder() {
  for (const auto& [variable, inside] : {std::pair{"XDG_CACHE_HOME", ""}, std::pair{"HOME", ".cache"}}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value == '/')
      return std::filesystem::path(value) / inside / "relaygen";
  }
  return std::nullopt;
}

// Nothing where a model file cannot be read again.
std::optional<std::filesystem::path> cache_file(const Pair& pair, const ModelFlags& flags) {
  const auto folder = cache_folder();
  const auto options = pair_options(flags);
  if (!folder || !options) return std::nullopt;
  Hash hash;
  for (const ModelOptions* model : {&options->large, &options->small}) {
    const auto file = file_fingerprint(model->path);
    if (!file) return std::nullopt;
    hash.add(*file)
        .add(static_cast<std::uint64_t>(model->gpu_layers))
        .add(model->cache_type_k)
        .add(model->cache_type_v);
  }
  // The same weights take another time in another build of this program or of llama.cpp.
  const auto build = file_fingerprint("/proc/self/exe").value_or(program());
  hash.add(to_line(describe_machine(pair.info().threads)))
      .add(build)
      .add(pair.info().engine)
      .add(static_cast<std::uint64_t>(options->micro_batch))
      .add(static_cast<std::uint64_t>(pair.limits().batch))
      .add(static_cast<std::uint64_t>(options->threads_batch))
      .add(static_cast<std::uint64_t>(std::min(kDepth, pair.limits().window / 2)))
      .add(flags.flash_attention);
  return *folder / fmt::format("costs-{}.json", hash.hex());
}

std::optional<CostModel> read_costs(const std::filesystem::path& file) {
  const auto content = read_file(file);
  if (!content) return std::nullopt;
  return bench::costs_from_json(OrderedJson::parse(*content, nullptr, false));
}

void keep_costs(const std::filesystem::path& file, const CostModel& costs) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  const OrderedJson json{
      {"costs", bench::costs_to_json(costs)}, {"output_row_s", costs.output_row}, {"choice_s", costs.choice}};
  const auto written = file.string() + ".new";  // another process may read meanwhile
  if (write_file(written, to_line(json) + "\n")) std::filesystem::rename(written, file, ignored);
}

}  // namespace

Result<CostModel> machine_costs(Pair& pair, const ModelFlags& flags) {
  const auto file = cache_file(pair, flags);
  if (file) {
    if (auto costs = read_costs(*file)) return std::move(*costs);
  }
  ProgressBar bar;
  auto costs = bench::measure_usual_batches(pair, kDepth, steady_clock(), [&](double share) {
    bar.show("measuring batches on this machine, once", static_cast<float>(share));
  });
  bar.clear();
  if (costs && file) keep_costs(*file, *costs);
  return costs;
}

}  // namespace relaygen::cli
