#include "calibrate/traces.h"

#include <algorithm>

namespace relaygen::calibrate {

Result<Trace> sample_trace(Engine& engine, Request request, const TraceKey& key, std::uint64_t seed,
                           const std::atomic<bool>& cancel) {
  request.seed = seed;
  request.policy.thinker = Model::large;
  request.policy.handoffs = HandoffRule::never;
  request.policy.answer_by = Model::large;
  request.cues = {};
  auto generation = Generation::create(engine, std::move(request));
  if (!generation) return tl::unexpected(generation.error());
  RunOptions options;
  options.cancel = &cancel;
  if (auto ok = generation->run(engine, options); !ok) return tl::unexpected(ok.error());
  const auto& asked = generation->request();
  const auto ids = generation->log().ids();
  const bool closed_by_force = std::ranges::any_of(
      generation->log().records(), [](const TokenRecord& record) { return record.author == Author::forced; });
  Trace trace{.key = key,
              .seed = seed,
              .prompt = asked.prompt,
              .prompt_state = asked.prompt_state,
              .tokens = {ids.begin() + static_cast<std::ptrdiff_t>(asked.prompt.size()), ids.end()},
              .finished = generation->finish() == FinishReason::stop && !closed_by_force};
  spell(trace, engine.vocabulary());
  return trace;
}

}  // namespace relaygen::calibrate
