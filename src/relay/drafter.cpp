#include "relay/drafter.h"

#include <algorithm>
#include <array>

#include "relay/ngram_lookup.h"

namespace relaygen {
namespace {

constexpr double kLookupPrior = 0.5;
constexpr double kReadAtOnce = 16, kDraftsOfAReading = 64;
constexpr std::size_t kProbe = 3;     // guesses of a probe
constexpr double kProbeShare = 0.01;  // of the time that is spent on probes

class Lookup : public GuessSource {
 public:
  Lookup() : GuessSource(kLookupPrior) {}

  void begin() noexcept override { source_.reset(); }

  Result<std::optional<Guess>> guess(const Loop& loop, std::span<const TokenId> draft) override {
    const auto text = loop.log().ids().first(loop.committed());
    constexpr std::size_t kTokens = NgramLookup::kTokens;
    if (loop.log().size() + draft.size() < kTokens) return std::nullopt;
    table_.update(text.first(text.size() - 1));    // the last n-gram would only find itself
    if (source_ && draft.size() == behind_ + 1) {  // going on where the guess before came from
      source_ = *source_ + 1 < text.size() ? std::optional(*source_ + 1) : std::nullopt;
    } else {
      std::array<TokenId, kTokens> last{};
      for (std::size_t i = 0; i < kTokens; ++i) last[kTokens - 1 - i] = token_from_end(loop, draft, i);
      source_ = table_.behind(last, text);
    }
    behind_ = draft.size();
    if (!source_) return std::nullopt;
    return Guess{text[*source_], 1};
  }
  [[nodiscard]] double seconds(std::size_t, std::size_t, double, const CostModel&) const override { return 0; }

 private:
  static TokenId token_from_end(const Loop& loop, std::span<const TokenId> draft, std::size_t i) {
    return i < draft.size() ? draft[draft.size() - 1 - i]
                            : loop.log().ids()[loop.log().size() - 1 - (i - draft.size())];
  }
  NgramLookup table_;
  std::optional<std::size_t> source_;  // where the last guess stands
  std::size_t behind_ = 0;             // so many guesses
};

class SmallModel : public GuessSource {
 public:
  SmallModel(double prior, SmallReader& small) : GuessSource(prior), small_(small) {}

  Result<std::optional<Guess>> guess(const Loop&, std::span<const TokenId> draft) override {
    const auto choice = small_.choose_small(draft);
    if (!choice) return tl::unexpected(choice.error());
    return Guess{choice->token, static_cast<double>(choice->margin)};
  }
  [[nodiscard]] double seconds(std::size_t draft, std::size_t count, double depth,
                               const CostModel& costs) const override {
    const double now = std::min(static_cast<double>(small_.unread_by_small(draft)), kReadAtOnce);
    const double spread = spread_seconds(draft, depth, costs) / kDraftsOfAReading;
    return costs.small.seconds(now, depth) + spread + static_cast<double>(count - 1) * costs.small.seconds(1, depth) +
           static_cast<double>(count) * costs.choice;
  }
  // A long text is read once, for all the drafts to come.
  [[nodiscard]] double spread_seconds(std::size_t draft, double depth, const CostModel& costs) const override {
    const auto unread = static_cast<double>(small_.unread_by_small(draft));
    if (unread <= kReadAtOnce) return 0;
    return std::max(0.0, costs.small.seconds(unread, depth) - costs.small.seconds(kReadAtOnce, depth));
  }

 private:
  SmallReader& small_;
};

}  // namespace

void GuessSource::saw(std::size_t, std::span<const TokenId>) {}

double GuessSource::spread_seconds(std::size_t, double, const CostModel&) const { return 0; }

Drafter::Drafter(const Drafting& how, SmallReader& small) : longest_(how.most) {
  if (how.lookup) lookup_ = std::make_unique<Lookup>();
  if (how.small_model) small_ = std::make_unique<SmallModel>(how.acceptance, small);
}

double Drafter::batch_seconds(std::size_t guesses) const {
  return costs_->large.seconds(static_cast<double>(batch_.rows + guesses), depth_) +
         static_cast<double>(guesses) * (costs_->output_row + costs_->choice);
}

// The best length if `source` makes the further guesses; without one, of the guesses made.
DraftLength Drafter::expect(const GuessSource* source) const {
  const std::size_t made = draft_.size();
  const std::size_t most = source == nullptr || complete_ ? made : batch_.most;
  const auto seconds = [&](std::size_t k) {
    const double ahead = k > made ? source->seconds(made, k - made, depth_, *costs_) : 0;
    return spent_ + ahead + batch_seconds(k);
  };
  const auto best = [&](std::span<const double> made_chances, double further) {
    return best_draft_length(made_chances, further, batch_.reach, most, seconds);
  };
  const DraftLength likely = best(chances_, source == nullptr ? 0 : source->acceptance.rate());
  if (likely.tokens > 0) return likely;
  // As it looks guessing does not pay: it is left only where hoping for more does not help either.
  return best(hopes_, source == nullptr ? 0 : source->acceptance.hope());
}

void Drafter::add(GuessSource& source, const Guess& guess, Loop& loop) {
  draft_.push_back(guess.token);
  made_by_.emplace_back(&source, guess.margin);
  chances_.push_back(source.acceptance.rate(guess.margin));
  hopes_.push_back(source.acceptance.hope(guess.margin));
  complete_ = loop.ends_draft(*preview_, guess.token);
}

Result<bool> Drafter::ask(GuessSource& source, Loop& loop) {
  spent_ += source.seconds(draft_.size(), 1, depth_, *costs_);
  const auto guess = source.guess(loop, draft_);
  if (!guess) return tl::unexpected(guess.error());
  if (!*guess || loop.ends_text((*guess)->token)) return false;
  add(source, **guess, loop);
  return true;
}

Status Drafter::extend(GuessSource& source, Loop& loop) {
  while (!is_full() && expect(&source).tokens > draft_.size()) {
    const auto more = ask(source, loop);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
  }
  return std::monostate{};
}

// Where guessing does not pay, now and then it is tried whether it does by now, by each source in turn.
Status Drafter::probe(Loop& loop) {
  const bool by_lookup = lookup_ && (!small_ || probes_ % 2 == 1);
  GuessSource& source = by_lookup ? *lookup_ : *small_;
  // All that it has to read counts here: where reading is dear, whoever fell behind is not asked again.
  const double extra = source.seconds(0, kProbe, depth_, *costs_) + source.spread_seconds(0, depth_, *costs_) +
                       batch_seconds(kProbe) - batch_seconds(0);
  if (static_cast<double>(++without_) * batch_seconds(0) * kProbeShare < extra) return std::monostate{};
  while (!is_full() && draft_.size() < kProbe) {
    const auto more = ask(source, loop);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
  }
  if (draft_.empty() && by_lookup && !small_) return std::monostate{};  // nothing was found: the next batch may have it
  without_ = 0;
  ++probes_;
  return std::monostate{};
}

Result<std::span<const TokenId>> Drafter::propose(Loop& loop, const Batch& batch, const CostModel& costs,
                                                  std::span<const Guess> leftovers) {
  batch_ = batch;
  batch_.most = std::min(batch.most, longest_);
  costs_ = &costs;
  depth_ = static_cast<double>(loop.log().size());
  spent_ = 0;
  draft_.clear();
  made_by_.clear();
  chances_.clear();
  hopes_.clear();
  for (GuessSource* source : {lookup_.get(), small_.get()}) {
    if (source != nullptr) source->begin();
  }
  preview_ = loop.state();
  complete_ = !loop.may_draft();
  if (is_full()) return std::span<const TokenId>();

  if (small_) {
    for (const Guess& guess : leftovers) {
      if (is_full() || loop.ends_text(guess.token)) break;
      add(*small_, guess, loop);
    }
  }
  const bool is_lookup_first = lookup_ && (!small_ || expect(lookup_.get()).rate >= expect(small_.get()).rate);
  const std::size_t left_over = draft_.size();
  if (is_lookup_first) {
    if (auto ok = extend(*lookup_, loop); !ok) return tl::unexpected(ok.error());
  }
  if (small_ && draft_.size() == left_over) {
    if (auto ok = extend(*small_, loop); !ok) return tl::unexpected(ok.error());
  }
  if (lookup_ && !is_lookup_first) {
    if (auto ok = extend(*lookup_, loop); !ok) return tl::unexpected(ok.error());
  }
  if (draft_.empty()) {
    if (auto ok = probe(loop); !ok) return tl::unexpected(ok.error());
    return std::span<const TokenId>(draft_);
  }
  without_ = 0;
  draft_.resize(expect(nullptr).tokens);
  return std::span<const TokenId>(draft_);
}

void Drafter::learn(std::size_t guess, bool accepted) noexcept {
  const auto& [source, margin] = made_by_[guess];
  source->acceptance.add(margin, accepted);
}

void Drafter::saw(std::size_t position, std::span<const TokenId> tokens) {
  for (const auto& source : {lookup_.get(), small_.get()}) {
    if (source != nullptr) source->saw(position, tokens);
  }
}

}  // namespace relaygen
