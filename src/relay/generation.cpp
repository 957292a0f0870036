// The loop with its effects: keeping two caches in step with the token log, decoding, telling the listener.
//
// A model's watermark is the number of tokens of the log that its cache is known to hold. The newest token is never in
// the leader's cache (it is pending), so the next batch is simply "log from the watermark on": one token while a model
// leads, and at a handoff the pending token with everything that the other model wrote. Catch-up and next decode are
// one call.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>

#include "relay/completion.h"
#include "relay/loop.h"
#include "relaygen/cost_model.h"
#include "relaygen/relay.h"

namespace relaygen {
namespace {

constexpr std::size_t index_of(Model model) { return static_cast<std::size_t>(model); }

}  // namespace

Clock steady_clock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

class Generation::Impl {
 public:
  Impl(const Engine& engine, Request request, BudgetPlan budget)
      : sampler_(request.sampling, Noise(request.seed, NoiseStream::tokens, request.choice)),
        loop_(engine.vocabulary(), std::move(request), std::move(budget)) {
    emitted_ = loop_.log().size();
    loop_.settle();
  }

  const Loop& loop() const noexcept { return loop_; }

  void reuse_cache(const Impl& previous, Engine& engine) noexcept {
    if (engine.owner() != previous.id_) return;
    engine.set_owner(id_);
    const auto theirs = previous.loop_.log().ids();
    const auto ours = loop_.log().ids();
    const auto [end, ignored] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    const auto common = static_cast<std::size_t>(end - ours.begin());
    for (const Model model : {Model::large, Model::small}) {
      const std::size_t i = index_of(model);
      seen_[i] = std::min({common, previous.seen_[i], static_cast<std::size_t>(engine.cached(model))});
    }
  }

  // The texts of this error fit into std::string itself: reporting that memory ran out must not need memory.
  static tl::unexpected<Error> out_of_memory() {
    return fail(ErrorKind::out_of_memory, "out of memory", "free memory");
  }

  Result<bool> step(Engine& engine, const RunOptions& options) {
    try {
      error_.reset();
      auto result = step_or_throw(engine, options);
      if (!result) error_ = result.error();
      return result;
    } catch (const std::bad_alloc&) {
      error_ = out_of_memory().value();
      return out_of_memory();
    } catch (const std::exception& exception) {
      error_ = Error{ErrorKind::internal, fmt::format("a listener or the engine threw: {}", exception.what()), {}};
      return tl::unexpected(*error_);
    }
  }

  Completion completion() const {
    Completion result = assemble_completion(loop_);
    result.timing = timing_;
    result.error = error_;
    if (loop_.finish() == FinishReason::none && error_) {
      result.finish = error_->kind == ErrorKind::cancelled ? FinishReason::cancelled : FinishReason::error;
    }
    return result;
  }

  void add_total(double seconds) noexcept { timing_.total += seconds; }

 private:
  Result<bool> step_or_throw(Engine& engine, const RunOptions& options) {
    loop_.settle();
    lower_watermarks();
    if (loop_.finish() == FinishReason::none) {
      if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
        return fail(ErrorKind::cancelled, "the generation was stopped");
      }
      if (loop_.must_force()) {
        loop_.force();
      } else if (auto choice = next_choice(engine, options); choice) {
        loop_.accept(*choice);
        lower_watermarks();
      } else {
        return tl::unexpected(choice.error());
      }
      loop_.settle();
      lower_watermarks();
    }
    emit_dropped(options);
    emit_committed(options);
    return loop_.finish() == FinishReason::none;
  }

  // What was dropped from the log is no part of it any more, whichever cache holds it.
  void lower_watermarks() noexcept {
    if (loop_.just_dropped().empty()) return;
    for (std::size_t& seen : seen_) seen = std::min<std::size_t>(seen, loop_.just_dropped().front().index);
  }

  // Brings the leader's cache up to date and samples the token after the log.
  Result<Choice> next_choice(Engine& engine, const RunOptions& options) {
    const Model model = loop_.leader();
    const auto ids = loop_.log().ids();
    if (engine.owner() != id_) {  // somebody else used the caches
      seen_ = {};
      engine.set_owner(id_);
    }
    std::size_t& seen = seen_[index_of(model)];
    std::size_t known = std::min(seen, ids.size() - 1);  // the newest token is always decoded, for its logits
    if (static_cast<std::size_t>(engine.cached(model)) != known) {
      known = static_cast<std::size_t>(engine.truncate(model, static_cast<std::int32_t>(known)));
    }
    seen = known;

    const EngineLimits limits = engine.limits();
    LogitRows rows;
    std::size_t first_row = 0;  // the log index whose next token rows[0] predicts
    while (seen < ids.size()) {
      const std::size_t count = std::min(ids.size() - seen, static_cast<std::size_t>(limits.batch));
      const bool last = seen + count == ids.size();
      first_row = last ? first_output_row(model, seen, static_cast<std::size_t>(limits.output_rows)) : ids.size();
      const auto output_rows = static_cast<std::int32_t>(last ? ids.size() - first_row : 0);
      const double start = options.clock();
      auto result = engine.decode(model, ids.subspan(seen, count), output_rows);
      add_time(model, seen, count, options.clock() - start);
      if (!result) {
        seen = std::min(static_cast<std::size_t>(engine.cached(model)), ids.size());
        return tl::unexpected(result.error());
      }
      seen += count;
      rows = std::move(*result);
      if (!last && options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) {
        return fail(ErrorKind::cancelled, "the generation was stopped");
      }
    }
    judge(rows, first_row, options);
    return sampler_.choose(rows[rows.size() - 1], ids, ids.size());
  }

  // The large model's catch-up can also give its log p of what the small model wrote: ask for those rows too. Each of
  // them takes a pass through the output head.
  std::size_t first_output_row(Model model, std::size_t seen, std::size_t most_rows) const {
    const std::size_t last = loop_.log().size() - 1;
    if (model != Model::large || !loop_.request().judge) return last;
    std::size_t row = last;
    while (row > seen && last - row + 2 <= most_rows && loop_.log()[row].author == Author::small) --row;
    return row;
  }

  void judge(const LogitRows& rows, std::size_t first_row, const RunOptions& options) {
    if (rows.size() < 2) return;
    judged_.clear();
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const std::size_t index = first_row + 1 + i;
      judged_.push_back(log_probability(rows[i], loop_.log()[index].id));
      loop_.judge(index, judged_.back());
    }
    if (options.events) options.events(JudgedEvent{first_row + 1, judged_});
  }

  void add_time(Model model, std::size_t seen, std::size_t count, double seconds) noexcept {
    const auto prompt = static_cast<std::int64_t>(loop_.request().prompt.size());
    switch (part_of(model, static_cast<std::int64_t>(count), static_cast<std::int64_t>(seen), prompt)) {
      case Part::prefill: timing_.prefill += seconds; break;
      case Part::catch_up:
        timing_.catch_up += seconds;
        ++timing_.catch_ups;
        break;
      case Part::large_decode:
        timing_.large_decode += seconds;
        ++timing_.large_decodes;
        break;
      case Part::small_decode:
        timing_.small_decode += seconds;
        ++timing_.small_decodes;
        break;
    }
  }

  void emit_dropped(const RunOptions& options) {
    if (options.events) {
      for (const DroppedToken& dropped : loop_.just_dropped()) {
        const TokenRecord& r = dropped.record;
        options.events(TokenEvent{dropped.index, r.id, {}, r.author, r.phase, r.margin, r.logprob, false});
      }
    }
    loop_.forget_dropped();
  }

  // Tells of every committed token once, held back while it may belong to a stop string.
  void emit_committed(const RunOptions& options) {
    const bool finished = loop_.finish() != FinishReason::none;
    while (emitted_ < loop_.committed()) {
      const TokenRecord& record = loop_.log()[emitted_];
      const std::string_view piece = loop_.piece(emitted_);
      const std::uint64_t end = emitted_bytes_ + piece.size();
      if (end > loop_.visible_bytes() && !finished) return;
      if (finished && emitted_bytes_ >= loop_.visible_bytes() && !piece.empty()) return;
      const std::string_view visible =
          piece.substr(0, std::min<std::uint64_t>(piece.size(), loop_.visible_bytes() - emitted_bytes_));
      const std::uint64_t index = emitted_++;
      emitted_bytes_ = end;
      if (!options.events) continue;
      const auto switches = loop_.switches();
      while (next_switch_ < switches.size() && switches[next_switch_].token < index) ++next_switch_;
      if (next_switch_ < switches.size() && switches[next_switch_].token == index) {
        const AuthorSwitch& change = switches[next_switch_];
        const Author from = loop_.log()[index - 1].author;
        if (from != Author::prompt) options.events(SegmentEvent{index, from, change.to, change.why, change.cue});
      }
      options.events(
          TokenEvent{index, record.id, visible, record.author, record.phase, record.margin, record.logprob, true});
    }
  }

  // Distinguishes the texts that use one engine, for as long as the process lives.
  static std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }

  std::uint64_t id_ = next_id();
  Sampler sampler_;
  Loop loop_;
  std::array<std::size_t, 2> seen_{};  // watermarks
  std::vector<float> judged_;
  std::uint64_t emitted_ = 0;  // log index of the next token to tell of
  std::uint64_t emitted_bytes_ = 0;
  std::size_t next_switch_ = 0;
  Timing timing_;
  std::optional<Error> error_;
};

Result<Generation> Generation::create(const Engine& engine, Request request) {
  try {
    if (request.prompt.empty()) return fail(ErrorKind::bad_input, "the prompt is empty", "give some text");
    for (const TokenId id : request.prompt) {
      if (id < 0 || id >= engine.vocabulary().size()) {
        return fail(ErrorKind::bad_input,
                    fmt::format("the prompt holds the token id {}, the vocabulary ends at {}", id,
                                engine.vocabulary().size() - 1),
                    "tokenize it with this pair's vocabulary");
      }
    }
    if (request.continued > request.prompt.size()) {
      return fail(ErrorKind::usage,
                  fmt::format("{} tokens of a prompt of {} are said to belong to the text", request.continued,
                              request.prompt.size()),
                  "give at most the whole prompt");
    }
    if (auto ok = check_values(request); !ok) return tl::unexpected(ok.error());
    auto budget = plan_budgets(engine, request);
    if (!budget) return tl::unexpected(budget.error());
    return Generation(std::make_unique<Impl>(engine, std::move(request), std::move(*budget)));
  } catch (const std::bad_alloc&) {
    return Impl::out_of_memory();
  }
}

Generation::Generation(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

void Generation::reuse_cache(const Generation& previous, Engine& engine) {
  impl_->reuse_cache(*previous.impl_, engine);
}

Result<bool> Generation::step(Engine& engine, const RunOptions& options) { return impl_->step(engine, options); }

Status Generation::run(Engine& engine, const RunOptions& options) {
  const double start = options.clock();
  Result<bool> more = true;
  while (more && *more) more = step(engine, options);
  impl_->add_total(options.clock() - start);
  if (!more) return tl::unexpected(more.error());
  return std::monostate{};
}

const TokenLog& Generation::log() const noexcept { return impl_->loop().log(); }
const Request& Generation::request() const noexcept { return impl_->loop().request(); }
FinishReason Generation::finish() const noexcept { return impl_->loop().finish(); }
Completion Generation::completion() const { return impl_->completion(); }

}  // namespace relaygen
