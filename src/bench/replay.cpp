#include "bench/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bench/batch_costs.h"

namespace relaygen::bench {
namespace {

Policy alone(Model model) { return {.thinker = model, .handoffs = HandoffRule::never, .answer_by = model}; }

}  // namespace

Account account_of(const RecordingEngine& books, const Completion& completion) {
  return {.schedule = books.schedule(),
          .measured = {books.seconds().begin(), books.seconds().end()},
          .seconds = completion.timing.total,
          .usage = completion.usage,
          .segments = completion.segments};
}

std::size_t room_for(std::size_t context, std::size_t text) { return context + text + text / 3 + 128; }

PartTimes Account::parts() const {
  PartTimes times;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    PartTimes::One& part = times[schedule[i].part];
    part.batches += 1;
    part.rows += static_cast<std::uint64_t>(schedule[i].rows);
    part.seconds += measured[i];
  }
  return times;
}

Request Replayer::base_request() const {
  return {.prompt = {window_.tokens.begin(), window_.tokens.begin() + static_cast<std::ptrdiff_t>(window_.context)},
          .tags = trace_tags(),
          .prompt_state = window_.state,
          .sampling = {.temperature = 0}};
}

Result<double> Replayer::prepare(const Window& window) {
  const std::size_t needed = room_for(window.context, window.text());
  if (const auto room = static_cast<std::size_t>(books_.limits().window); needed > room) {
    return fail(ErrorKind::too_long,
                fmt::format("a window of {} tokens behind {} needs a context of {}, and the pair has {}", window.text(),
                            window.context, needed, room),
                "give a larger -c, or less --depth or --tokens");
  }
  window_ = window;
  previous_.reset();
  if (auto ok = replay_.set_text(window.tokens); !ok) return tl::unexpected(ok.error());
  double seconds = 0;
  for (const Model model : {Model::large, Model::small}) {
    Request request = base_request();
    request.policy = alone(model);
    request.budgets.total = 1;
    auto one = run_request(std::move(request), {});
    if (!one) return tl::unexpected(one.error());
    seconds += one->seconds;
  }
  return seconds;
}

// Where the small model may be mistaken without another text coming out: nowhere where its word counts unchecked.
Result<std::vector<bool>> Replayer::mistakes_under(const NamedPolicy& policy, double acceptance) const {
  const Policy& own = policy.prepared.policy;
  const bool verifies = own.verify != Verification::off;
  if (acceptance >= 1 || own.thinker == Model::small || !(verifies || own.draft.small_model))
    return std::vector<bool>();
  constexpr std::uint64_t kSeed = 1;
  const Noise noise(kSeed, NoiseStream::evaluation);
  std::vector<bool> mistakes(window_.tokens.size());
  for (std::size_t i = 0; i < mistakes.size(); ++i) mistakes[i] = noise.uniform(i, 0) >= acceptance;

  NamedPolicy unchecked = policy;
  unchecked.prepared.policy.draft = {};
  unchecked.prepared.policy.verify = Verification::off;
  if (verifies) unchecked.prepared.policy.handoffs = HandoffRule::never;
  if (own.verify == Verification::strict) unchecked.prepared.policy.answer_by = Model::large;
  DryEngine dry(books_.vocabulary(), books_.limits());
  Replayer replayer(dry);
  if (auto seconds = replayer.prepare(window_); !seconds) return tl::unexpected(seconds.error());
  const auto account = replayer.run(unchecked);
  if (!account) return tl::unexpected(account.error());
  for (const Batch& batch : account->schedule) {
    if (batch.model != Model::small) continue;
    const auto next = static_cast<std::size_t>(batch.depth + batch.rows);
    if (next < mistakes.size()) mistakes[next] = false;
  }
  return mistakes;
}

Result<Account> Replayer::run(const NamedPolicy& policy, const RunOptions& options, double acceptance) {
  if (policy.prepared.policy.guard_margin > 0) {
    return fail(ErrorKind::usage, fmt::format("{} cannot be replayed: a recorded text has no margins", policy.name),
                "leave it out, or measure live texts with --prompts");
  }
  auto mistakes = mistakes_under(policy, acceptance);
  if (!mistakes) return tl::unexpected(mistakes.error());
  replay_.set_mistakes(std::move(*mistakes));
  Request request = base_request();
  request.policy = policy.prepared.policy;
  request.cues = policy.prepared.cues;
  auto account = run_request(std::move(request), options);
  replay_.set_mistakes({});
  if (!account) return account;
  const auto ids = previous_->log().ids();
  if (!std::equal(ids.begin(), ids.end(), window_.tokens.begin(), window_.tokens.end())) {
    return fail(ErrorKind::internal, fmt::format("the replay of {} gave another text", window_.trace),
                "please report this");
  }
  return account;
}

Result<CostModel> Replayer::price(std::span<const Batch> schedule, const Clock& clock) {
  const std::size_t depth = window_.context + window_.text() / 2;
  const auto tokens = std::span<const TokenId>(window_.tokens);
  std::array<std::vector<BatchCost>, 2> costs;
  for (const Model model : {Model::large, Model::small}) {
    const BatchSizes sizes = sizes_of(schedule, model);
    if (sizes.empty()) continue;
    if (auto ok = fill_cache(engine_, model, tokens.first(depth)); !ok) return tl::unexpected(ok.error());
    auto times = time_sizes(engine_, model, tokens, sizes, static_cast<std::int32_t>(depth), clock);
    if (!times) return tl::unexpected(times.error());
    costs[static_cast<std::size_t>(model)] = std::move(*times);
  }
  CostModel model{CostTable(costs[0]), CostTable(costs[1])};
  if (std::ranges::any_of(schedule, [](const Batch& batch) { return batch.outputs > 1; })) {
    if (auto ok = fill_cache(engine_, Model::large, tokens.first(depth)); !ok) return tl::unexpected(ok.error());
    auto output = time_output_row(engine_, tokens, static_cast<std::int32_t>(depth), clock);
    if (!output) return tl::unexpected(output.error());
    model.output_row = *output;
  }
  return model;
}

Result<Account> Replayer::run_request(Request request, const RunOptions& options) {
  auto generation = Generation::create(replay_, std::move(request));
  if (!generation) return tl::unexpected(generation.error());
  if (previous_) generation->reuse_cache(*previous_, replay_);
  books_.start(window_.context);
  if (auto ok = generation->run(replay_, options); !ok) return tl::unexpected(ok.error());
  Account account = account_of(books_, generation->completion());
  previous_ = std::move(*generation);
  return account;
}

Result<Account> run_live(RecordingEngine& books, const Request& request, const RunOptions& options) {
  auto generation = Generation::create(books, request);
  if (!generation) return tl::unexpected(generation.error());
  books.start(request.prompt.size());
  if (auto ok = generation->run(books, options); !ok) return tl::unexpected(ok.error());
  return account_of(books, generation->completion());
}

}  // namespace relaygen::bench
