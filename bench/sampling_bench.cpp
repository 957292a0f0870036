// Choosing a token from a row of logits as long as Qwen3's vocabulary.
#include <benchmark/benchmark.h>

#include "core/softmax.h"
#include "relaygen/sampling.h"

namespace relaygen {
namespace {

constexpr std::size_t kVocabulary = 151'936;

std::vector<float> row_of_logits() {
  const Noise noise(1, NoiseStream::evaluation);
  std::vector<float> logits(kVocabulary);
  for (std::size_t i = 0; i < kVocabulary; ++i) logits[i] = static_cast<float>(2 * noise.gumbel(0, i));
  return logits;
}

void BM_Choose(benchmark::State& state, const SamplingOptions& options) {
  const auto logits = row_of_logits();
  Sampler sampler(options, Noise(1, NoiseStream::tokens));
  std::uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.choose(logits, {}, position++));
}

void BM_Summarize(benchmark::State& state) {
  const auto logits = row_of_logits();
  for (auto _ : state) benchmark::DoNotOptimize(summarize(logits));
}

void BM_IsPlausible(benchmark::State& state) {
  const auto logits = row_of_logits();
  for (auto _ : state) benchmark::DoNotOptimize(is_plausible(logits, 17, {}));
}

BENCHMARK_CAPTURE(BM_Choose, greedy, SamplingOptions{.temperature = 0})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, usual, SamplingOptions{})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_Choose, all_tokens, SamplingOptions{.top_k = 0})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Summarize)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_IsPlausible)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace relaygen
