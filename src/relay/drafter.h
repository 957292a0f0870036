// Guessing what the large model writes next, so that one batch of it can check several tokens.
//
// Guesses come from sources. Which one is asked, and for how many, follows from what batches cost on this machine and
// from how many guesses stood so far in this text. No guess changes what is written: it stands only where it is the large
// model's own choice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/draft_length.h"
#include "relay/loop.h"
#include "relaygen/cost_model.h"
#include "relaygen/error.h"

namespace relaygen {

struct Guess {
  TokenId token = 0;
  double margin = 1;  ///< of whoever guessed
};

/// The small model, as far as guessing needs it.
class SmallReader {
 public:
  virtual ~SmallReader() = default;
  /// Lets it read the log and `draft` behind it and choose what comes next. Errors: those of decode.
  [[nodiscard]] virtual Result<Choice> choose_small(std::span<const TokenId> draft) = 0;
  /// So many tokens it has to read for that.
  [[nodiscard]] virtual std::size_t unread_by_small(std::size_t draft) const = 0;
};

/// A source of guesses. It sees everything that the large model decodes, which heads on its hidden states will need.
class GuessSource {
 public:
  explicit GuessSource(double prior) : acceptance(prior) {}
  virtual ~GuessSource() = default;
  GuessSource(const GuessSource&) = delete;
  GuessSource& operator=(const GuessSource&) = delete;

  /// The large model decoded `tokens` from `position` on, also ones that will not stay.
  virtual void saw(std::size_t position, std::span<const TokenId> tokens);
  /// A new draft begins.
  virtual void begin() noexcept {}
  /// One more guess behind log and draft; nothing where it has none. Errors: those of decode.
  [[nodiscard]] virtual Result<std::optional<Guess>> guess(const Loop& loop, std::span<const TokenId> draft) = 0;
  /// Seconds that `count` >= 1 more guesses take behind a draft.
  [[nodiscard]] virtual double seconds(std::size_t draft, std::size_t count, double depth,
                                       const CostModel& costs) const = 0;
  /// Of the time of the next guess, what seconds() spreads over many drafts.
  [[nodiscard]] virtual double spread_seconds(std::size_t draft, double depth, const CostModel& costs) const;

  Acceptance acceptance;
};

/// One for each text. Not thread-safe.
class Drafter {
 public:
  /// `small` must outlive it.
  Drafter(const Drafting& how, SmallReader& small);

  /// The coming batch of the large model.
  struct Batch {
    std::size_t rows = 1;  ///< without guesses
    std::size_t most = 0;  ///< guesses that there is room for
    double reach = 1;      ///< chance that what stands before them stays
  };
  /// The tokens to check in it, perhaps none. `leftovers` are what the small model wrote there already and what was
  /// dropped for another reason than being wrong. Valid until the next call. Errors: those of decode.
  [[nodiscard]] Result<std::span<const TokenId>> propose(Loop& loop, const Batch& batch, const CostModel& costs,
                                                         std::span<const Guess> leftovers);

  /// Guess number `guess` of the tokens proposed last was checked.
  void learn(std::size_t guess, bool accepted) noexcept;
  void saw(std::size_t position, std::span<const TokenId> tokens);

 private:
  [[nodiscard]] double batch_seconds(std::size_t guesses) const;
  [[nodiscard]] DraftLength expect(const GuessSource* source) const;
  Status extend(GuessSource& source, Loop& loop);
  Result<bool> ask(GuessSource& source, Loop& loop);
  void add(GuessSource& source, const Guess& guess, Loop& loop);
  Status probe(Loop& loop);
  [[nodiscard]] bool is_full() const noexcept { return complete_ || draft_.size() >= batch_.most; }

  std::unique_ptr<GuessSource> lookup_, small_;
  std::size_t longest_;
  std::size_t without_ = 0;  // batches in a row without a guess
  std::size_t probes_ = 0;

  // The draft in the making.
  Batch batch_;
  const CostModel* costs_ = nullptr;
  double depth_ = 0;
  double spent_ = 0;  // seconds of its guesses
  std::vector<TokenId> draft_;
  std::vector<std::pair<GuessSource*, double>> made_by_;  // of each guess, with its margin
  std::vector<double> chances_, hopes_;
  std::optional<LoopState> preview_;  // of the loop behind the draft
  bool complete_ = false;             // nothing can follow
};

}  // namespace relaygen
