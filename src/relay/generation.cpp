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
#include "relay/drafter.h"
#include "relay/loop.h"
#include "relaygen/cost_model.h"
#include "relaygen/relay.h"

namespace relaygen {
namespace {

constexpr std::size_t index_of(Model model) { return static_cast<std::size_t>(model); }

constexpr double kSegmentStays = 0.8;  // expected of a segment that is verified, for guesses behind it

}  // namespace

Clock steady_clock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

class Generation::Impl final : private SmallReader {
 public:
  Impl(const Engine& engine, Request request, BudgetPlan budget)
      : sampler_(request.sampling, Noise(request.seed, NoiseStream::tokens, request.choice)),
        loop_(engine.vocabulary(), std::move(request), std::move(budget)) {
    const Drafting& how = loop_.request().policy.draft;
    if (how.on() && engine.limits().can_cut) drafter_.emplace(how, static_cast<SmallReader&>(*this));
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
    result.usage.drafted = drafted_;
    result.usage.accepted = accepted_;
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
      if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) return stopped();
      if (loop_.must_force()) {
        loop_.force();
      } else if (auto ok = write(engine, options); !ok) {
        return tl::unexpected(ok.error());
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
    for (const DroppedToken& dropped : loop_.just_dropped()) {
      for (std::size_t& seen : seen_) seen = std::min<std::size_t>(seen, dropped.index);
    }
  }

  // One batch of the leader, or several where it has a lot to read: it checks the small model's segment if it has to,
  // writes a token, and goes on as far as the guesses behind that token are its own choices.
  Status write(Engine& engine, const RunOptions& options) {
    engine_ = &engine;
    options_ = &options;
    const Model model = loop_.leader();
    if (engine.owner() != id_) {  // somebody else used the caches
      seen_ = {};
      engine.set_owner(id_);
    }
    std::span<const TokenId> draft;
    if (model == Model::large && drafter_) {
      auto proposed = propose();
      if (!proposed) return tl::unexpected(proposed.error());
      draft = *proposed;
    }
    leftovers_.clear();

    const EngineLimits limits = engine.limits();
    const auto most_rows = static_cast<std::size_t>(limits.output_rows);
    const std::size_t known = loop_.log().size();
    const std::size_t first = first_output_row(model, most_rows);
    cut_cache(model, first);
    std::size_t read = seen_[index_of(model)];
    bool more = true;
    while (more && read < known + draft.size()) {
      std::size_t end = std::min(known + draft.size(), read + static_cast<std::size_t>(limits.batch));
      const std::size_t first_row = std::max(first, read);
      end = std::min(end, first_row + most_rows);
      auto rows = decode(model, known, draft, read, end, end > first_row ? end - first_row : 0);
      if (!rows) return tl::unexpected(rows.error());
      read = end;
      if (rows->size() == 0 && read < known && is_cancelled()) return stopped();
      judge(*rows, first_row);
      for (std::size_t i = 0; more && i < rows->size(); ++i) {
        const auto went_on = use_row((*rows)[i], first_row + i, known, draft);
        if (!went_on) return tl::unexpected(went_on.error());
        more = *went_on;
      }
    }
    return std::monostate{};
  }

  // The first `known` tokens of the log and the draft behind them, from `begin` to `end`. What of it stands in the log is
  // known to be in the cache then.
  Result<LogitRows> decode(Model model, std::size_t known, std::span<const TokenId> draft, std::size_t begin,
                           std::size_t end, std::size_t output_rows) {
    const auto ids = loop_.log().ids();
    std::size_t& seen = seen_[index_of(model)];
    std::span<const TokenId> tokens;
    if (end <= known) {
      tokens = ids.subspan(begin, end - begin);
    } else {
      const std::size_t from = std::min(begin, known);
      const auto guesses = draft.subspan(begin - from, end - known - (begin - from));
      batch_.assign(ids.begin() + static_cast<std::ptrdiff_t>(from), ids.begin() + static_cast<std::ptrdiff_t>(known));
      batch_.insert(batch_.end(), guesses.begin(), guesses.end());
      tokens = batch_;
    }
    const double start = options_->clock();
    auto result = engine_->decode(model, tokens, static_cast<std::int32_t>(output_rows));
    add_time(model, begin, tokens.size(), output_rows, options_->clock() - start);
    if (!result) {
      seen = std::min({static_cast<std::size_t>(engine_->cached(model)), ids.size(), end});
      return result;
    }
    seen = std::max(seen, std::min(end, known));  // guesses that stood are counted where they are found to
    if (model == Model::large && drafter_) drafter_->saw(begin, tokens);
    return result;
  }

  // Makes the cache hold what is known of the text, up to the row from which on logits are needed.
  void cut_cache(Model model, std::size_t first_row) {
    std::size_t& seen = seen_[index_of(model)];
    std::size_t known = std::min(seen, first_row);
    if (static_cast<std::size_t>(engine_->cached(model)) != known)
      known = static_cast<std::size_t>(engine_->truncate(model, static_cast<std::int32_t>(known)));
    seen = known;
  }

  // The row predicts the token behind position `at`. `known` tokens stood in the log when the batch was made. Returns
  // whether the next row means something.
  Result<bool> use_row(std::span<const float> row, std::size_t at, std::size_t known, std::span<const TokenId> draft) {
    const std::size_t index = at + 1;
    if (index < loop_.log().size()) {
      if (loop_.unverified() == 0) return true;  // was only judged
      const TokenId token = loop_.log()[index].id;
      const Policy& policy = loop_.request().policy;
      if (policy.verify != Verification::typical || !is_plausible(row, token, policy.typical)) {
        const Choice choice = sampler_.choose(row, loop_.log().ids().first(index), index);
        if (choice.token != token) {
          loop_.refuse(index, choice);
          lower_watermarks();
          return false;
        }
      }
      if (index + 1 < loop_.log().size()) return true;
      loop_.agree();
      loop_.settle();
      lower_watermarks();
      return loop_.large_goes_on();
    }
    const Choice choice = sampler_.choose(row, loop_.log().ids(), index);
    const std::size_t guess = index - known;
    const bool is_guessed = guess < draft.size() && draft[guess] == choice.token;
    loop_.accept(choice);
    if (guess < draft.size()) {
      ++drafted_;
      accepted_ += is_guessed;
      learned(guess, is_guessed);
    }
    loop_.settle();
    keep_leftovers();
    lower_watermarks();
    return is_guessed && loop_.log().size() == index + 1 && loop_.large_goes_on();
  }

  // A guess that stands is in the caches of all who read it.
  void learned(std::size_t guess, bool is_accepted) noexcept {
    drafter_->learn(guess, is_accepted);
    if (!is_accepted) return;
    seen_[index_of(Model::large)] += 1;
    if (guess < small_ahead_) seen_[index_of(Model::small)] += 1;
  }

  // The large model's catch-up can also give its log p of what the small model wrote, and has to where that is verified:
  // then from the row before its first token on. Each row takes a pass through the output head.
  std::size_t first_output_row(Model model, std::size_t most_rows) const {
    const std::size_t last = loop_.log().size() - 1;
    if (model != Model::large) return last;
    if (const auto unverified = loop_.unverified(); unverified > 0) return last - unverified;
    if (!loop_.request().judge) return last;
    const std::size_t seen = std::min(seen_[index_of(model)], last);
    std::size_t row = last;
    while (row > seen && last - row + 2 <= most_rows && loop_.log()[row].author == Author::small) --row;
    return row;
  }

  void judge(const LogitRows& rows, std::size_t first_row) {
    if (!loop_.request().judge) return;
    judged_.clear();
    for (std::size_t i = 0; i < rows.size() && first_row + i + 1 < loop_.log().size(); ++i) {
      const std::size_t index = first_row + i + 1;
      judged_.push_back(log_probability(rows[i], loop_.log()[index].id));
      loop_.judge(index, judged_.back());
    }
    if (options_->events && !judged_.empty() && loop_.unverified() == 0)
      options_->events(JudgedEvent{first_row + 1, judged_});
  }

  // ---------------------------------------------------------------- drafts

  Result<std::span<const TokenId>> propose() {
    small_ahead_ = 0;
    const std::size_t known = loop_.log().size();
    const std::size_t seen = std::min(seen_[index_of(Model::large)], known - 1);
    if (seen + 1 < loop_.request().prompt.size()) return std::span<const TokenId>();  // the prompt comes first
    const EngineLimits limits = engine_->limits();
    const auto left = [](std::uint64_t all, std::uint64_t used) { return all - std::min(all, used); };
    const std::uint64_t checked = known - first_output_row(Model::large, static_cast<std::size_t>(limits.output_rows));
    Drafter::Batch batch{.rows = known - seen, .reach = loop_.unverified() > 0 ? kSegmentStays : 1};
    batch.most = static_cast<std::size_t>(
        std::min({left(loop_.room(), 1), left(static_cast<std::uint64_t>(limits.output_rows), checked),
                  left(static_cast<std::uint64_t>(limits.batch), batch.rows),
                  left(static_cast<std::uint64_t>(limits.window), known + 1)}));
    const CostModel& costs = options_->costs != nullptr ? *options_->costs : usual_costs();
    return drafter_->propose(loop_, batch, costs, leftovers_);
  }

  [[nodiscard]] std::size_t unread_by_small(std::size_t draft) const override {
    const std::size_t read = std::min(seen_[index_of(Model::small)], loop_.log().size()) + small_ahead_;
    const std::size_t all = loop_.log().size() + draft;
    return std::max<std::size_t>(1, all - std::min(all, read));
  }

  Result<Choice> choose_small(std::span<const TokenId> draft) override {
    const auto ids = loop_.log().ids();
    const std::size_t all = ids.size() + draft.size();
    std::size_t& seen = seen_[index_of(Model::small)];
    if (small_ahead_ == 0) cut_cache(Model::small, all - 1);
    std::size_t read = seen + small_ahead_;
    LogitRows rows;
    while (read < all) {
      const std::size_t end = std::min(all, read + static_cast<std::size_t>(engine_->limits().batch));
      auto result = decode(Model::small, ids.size(), draft, read, end, end == all ? 1 : 0);
      if (!result) return tl::unexpected(result.error());
      rows = std::move(*result);
      read = end;
      if (read < all && is_cancelled()) return stopped();
    }
    small_ahead_ = draft.size();
    history_.clear();
    if (sampler_.options().penalizes()) {
      history_.assign(ids.begin(), ids.end());
      history_.insert(history_.end(), draft.begin(), draft.end());
    }
    return sampler_.choose(rows[rows.size() - 1], history_, all);
  }

  // Tokens that the small model wrote behind the log and that went for another reason than being wrong.
  void keep_leftovers() {
    leftovers_.clear();
    if (!drafter_) return;
    for (const DroppedToken& dropped : loop_.just_dropped()) {
      if (dropped.record.author != Author::small || dropped.index != loop_.log().size() + leftovers_.size()) return;
      leftovers_.push_back({dropped.record.id, static_cast<double>(dropped.record.margin)});
    }
  }

  [[nodiscard]] bool is_cancelled() const noexcept {
    return options_->cancel != nullptr && options_->cancel->load(std::memory_order_relaxed);
  }
  static tl::unexpected<Error> stopped() { return fail(ErrorKind::cancelled, "the generation was stopped"); }

  void add_time(Model model, std::size_t seen, std::size_t count, std::size_t outputs, double seconds) noexcept {
    const auto prompt = static_cast<std::int64_t>(loop_.request().prompt.size());
    switch (part_of(model, static_cast<std::int64_t>(count), static_cast<std::int64_t>(outputs),
                    static_cast<std::int64_t>(seen), prompt)) {
      case Part::prefill: timing_.prefill += seconds; break;
      case Part::catch_up:
        timing_.catch_up += seconds;
        ++timing_.catch_ups;
        break;
      case Part::verify:
        timing_.verify += seconds;
        ++timing_.verifies;
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
  std::optional<Drafter> drafter_;
  std::size_t small_ahead_ = 0;  // guesses behind the log that the small model's cache holds
  std::vector<Guess> leftovers_;
  std::uint64_t drafted_ = 0, accepted_ = 0;
  std::vector<TokenId> batch_, history_;  // scratch
  std::vector<float> judged_;
  Engine* engine_ = nullptr;  // of the step that is under way
  const RunOptions* options_ = nullptr;
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
    if (request.policy.verify != Verification::off && !engine.limits().can_cut) {
      return fail(ErrorKind::usage, "a model of this pair cannot take tokens back, which verification needs",
                  "turn verification off");
    }
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
