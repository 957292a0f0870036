// What the loop costs beside the decodes: everything in Generation::run() that is not Engine::decode(), on the bundled
// pair. The counters are microseconds a token of the log and the share of a decode of the large model.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "relaygen/pair.h"
#include "relaygen/policies.h"
#include "relaygen/profile.h"
#include "relaygen/relay.h"

namespace relaygen {
namespace {

const std::string kSource = RELAYGEN_SOURCE_DIR;

// Forwards to the pair and keeps the time spent in it.
class TimedEngine : public Engine {
 public:
  explicit TimedEngine(Pair& pair) : pair_(pair) {}
  [[nodiscard]] const Vocabulary& vocabulary() const noexcept override { return pair_.vocabulary(); }
  [[nodiscard]] EngineLimits limits() const noexcept override { return pair_.limits(); }
  [[nodiscard]] std::int32_t cached(Model model) const noexcept override { return pair_.cached(model); }
  [[nodiscard]] std::int32_t truncate(Model model, std::int32_t length) override {
    const double start = clock_();
    const auto kept = pair_.truncate(model, length);
    seconds_ += clock_() - start;
    return kept;
  }
  [[nodiscard]] Result<LogitRows> decode(Model model, std::span<const TokenId> tokens, std::int32_t rows) override {
    const double start = clock_();
    auto result = pair_.decode(model, tokens, rows);
    const double spent = clock_() - start;
    seconds_ += spent;
    if (model == Model::large && tokens.size() == 1) {
      large_seconds_ += spent;
      ++large_decodes_;
    }
    return result;
  }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  [[nodiscard]] double seconds_a_large_decode() const noexcept {
    return large_seconds_ / static_cast<double>(large_decodes_);
  }

 private:
  Pair& pair_;
  Clock clock_ = steady_clock();
  double seconds_ = 0;
  double large_seconds_ = 0;
  std::uint64_t large_decodes_ = 0;
};

Pair* bundled_pair() {
  static const auto pair = [] {
    PairOptions options;
    options.large.path = kSource + "/models/demo/relaygen-demo-large.gguf";
    options.small.path = kSource + "/models/demo/relaygen-demo-small.gguf";
    auto loaded = Pair::load(options);
    return loaded ? std::move(*loaded) : std::unique_ptr<Pair>();
  }();
  return pair.get();
}

void loop_beside_decodes(benchmark::State& state, const char* policy, float temperature) {
  Pair* pair = bundled_pair();
  const auto profile = read_profile(kSource + "/profiles/demo.json");
  if (pair == nullptr || !profile) return state.SkipWithError("the bundled pair cannot be loaded");
  const ChatMessage message{
      "user",
      "Mia has 45 boxes with 13 pens in each box. Mia gives 123 pens to Tom. How many pens does Mia have left?"};
  const auto prompt = pair->render(std::span(&message, 1), true);
  const auto prepared = prepare_policy({.name = policy}, *profile);
  if (!prompt || !prepared) return state.SkipWithError("the prompt cannot be rendered");
  Request request{.prompt = prompt->tokens,
                  .tags = prompt->tags,
                  .prompt_state = prompt->state,
                  .policy = prepared->policy,
                  .cues = prepared->cues};
  request.sampling.temperature = temperature;
  request.seed = 1;

  TimedEngine engine(*pair);
  double outside = 0;
  std::uint64_t tokens = 0;
  for (auto _ : state) {
    auto generation = Generation::create(engine, request);
    const double before = engine.seconds();
    const auto clock = steady_clock();
    const double start = clock();
    if (!generation || !generation->run(engine)) return state.SkipWithError("the generation failed");
    outside += clock() - start - (engine.seconds() - before);
    tokens += generation->log().size() - request.prompt.size();
  }
  const double each = outside / static_cast<double>(tokens);
  state.counters["loop_us_a_token"] = 1e6 * each;
  state.counters["large_decode_us"] = 1e6 * engine.seconds_a_large_decode();
  state.counters["percent_of_decode"] = 100 * each / engine.seconds_a_large_decode();
}

BENCHMARK_CAPTURE(loop_beside_decodes, large_only_greedy, "large-only", 0.0F)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop_beside_decodes, relay_greedy, "relay", 0.0F)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loop_beside_decodes, relay_sampled, "relay", 0.6F)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace relaygen
