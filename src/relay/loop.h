// The loop without its effects: what the newest choice of a model does to log and state. No engine, no clock.
//
// The small model looks ahead for both models. A cue such as "Thus", or a full stop, is complete only when the next
// character is known. At such a place the small model goes on (or takes over) provisionally: a token that shows the
// cue to be another word takes the handoff back; a token that merely shows the full stop to be the end of the sentence
// is dropped, so that the large model writes it. A token is committed once neither can happen to it any more; budgets,
// stop strings and events see committed tokens only.
//
// Under verification a whole small segment stays provisional. When it is over the large model leads, and before it writes
// on it has to agree to each of the segment's tokens (agree) or to replace one by its own choice (refuse).
//
// Every change is computed on copies and applied without anything that can fail, so an allocation that fails leaves
// the loop as it was before the token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "relay/budget.h"
#include "relay/loop_state.h"
#include "relaygen/relay.h"

namespace relaygen {

/// Who writes from a token on, and why.
struct AuthorSwitch {
  std::uint64_t token = 0;  ///< log index
  Author to = Author::large;
  SwitchReason why = SwitchReason::cue;
  std::optional<std::uint32_t> cue;
};

/// A token that was not kept.
struct DroppedToken {
  std::uint64_t index = 0;
  TokenRecord record;
};

class Loop {
 public:
  Loop(const Vocabulary& vocabulary, Request request, BudgetPlan budget);

  /// Whether the next tokens are forced ones (a closing tag); then call force() instead of decoding.
  [[nodiscard]] bool must_force() const;
  void force();

  /// The leader's next token, sampled at position log().size().
  void accept(const Choice& choice);

  /// How many tokens at the end of the log the large model has to agree to before it writes on.
  [[nodiscard]] std::uint64_t unverified() const noexcept { return awaiting_ ? log_.size() - committed_ : 0; }
  /// It agrees to all of them. They are committed.
  void agree() noexcept;
  /// It agrees to those before `index` and writes `choice` there. The rest is dropped.
  void refuse(std::uint64_t index, const Choice& choice);

  /// Whether the large model's next token belongs to it: it leads, nothing is forced or finished.
  [[nodiscard]] bool large_goes_on() const;
  /// How many more tokens budgets allow.
  [[nodiscard]] std::uint64_t room() const;
  /// Whether the large model writes more than one token here.
  [[nodiscard]] bool may_draft() const noexcept { return !tries_everywhere(state_); }
  /// Whether a draft of the large model's tokens should end with `token`, because behind it somebody else writes or the
  /// text may be over. `preview` is a copy of state() that has read what was drafted before; it reads the token.
  [[nodiscard]] bool ends_draft(LoopState& preview, TokenId token);
  [[nodiscard]] bool ends_text(TokenId token) const { return vocabulary_->ends_generation(token); }

  /// Looks at budgets and stop strings. Call after construction and after every force() and accept(); repeating a call
  /// changes nothing.
  void settle();

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] const TokenLog& log() const noexcept { return log_; }
  [[nodiscard]] const LoopState& state() const noexcept { return state_; }
  [[nodiscard]] Model leader() const noexcept { return state_.leader; }
  [[nodiscard]] std::uint64_t committed() const noexcept {
    return committed_;
  }  ///< log length without provisional tokens
  [[nodiscard]] FinishReason finish() const noexcept { return finish_; }
  [[nodiscard]] std::span<const AuthorSwitch> switches() const noexcept { return switches_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::uint64_t verified() const noexcept { return verified_; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

  /// Bytes of the text that a stop string can no longer take back; all of it once finished.
  [[nodiscard]] std::uint64_t visible_bytes() const noexcept { return visible_bytes_; }

  /// Tokens dropped since the last forget_dropped().
  [[nodiscard]] std::span<const DroppedToken> just_dropped() const noexcept { return just_dropped_; }
  void forget_dropped() noexcept { just_dropped_.clear(); }

  /// Keeps the large model's opinion of a small token.
  void judge(std::uint64_t index, float large_logprob) noexcept { log_[index].large_logprob = large_logprob; }

  [[nodiscard]] std::string_view piece(std::uint64_t index) const { return vocabulary_->piece(log_[index].id); }

 private:
  /// Where provisional tokens go: those from `token` on, back to the state before it.
  struct Cut {
    std::uint64_t token;
    const LoopState* state;
  };
  enum class Boundary : std::uint8_t { unknown, confirmed, refused };

  /// Feeds one piece to the matchers of `next`; fired_ and ends_ hold what it made certain. Returns whether the
  /// thinking ended in it.
  bool feed(LoopState& next, std::string_view piece);

  void accept_end_of_generation(const TokenRecord& record);
  void accept_free(LoopState next, const TokenRecord& record);
  void accept_in_small_segment(LoopState next, const TokenRecord& record);
  void hand_back(const TokenRecord& record, SwitchReason why);

  void open_handoff(LoopState& next) const;
  void open_cue_handoff(LoopState& next) const;
  void open_random_handoff(LoopState& next) const;
  [[nodiscard]] std::uint64_t large_tokens_until(const LoopState& next, std::uint64_t byte) const;

  [[nodiscard]] Boundary boundary(const LoopState& next, Handoff& handoff) const;
  [[nodiscard]] std::optional<Cut> cut_at_byte(std::uint64_t byte) const;
  [[nodiscard]] Cut cut_at_handoff() const;
  void take_back(const Cut& cut, const TokenRecord* newest, SwitchReason why);

  void append(LoopState&& next, const TokenRecord& record) noexcept;
  void append_provisional(LoopState&& next, const TokenRecord& record) noexcept;
  void commit_before(std::uint64_t byte) noexcept;
  void record_switch(Author to, SwitchReason why, std::optional<std::uint32_t> cue = std::nullopt) noexcept;
  void resolve_provisional();
  [[nodiscard]] bool can_force(const LoopState& state) const;
  [[nodiscard]] bool has_to_close(const LoopState& state) const;
  void begin_large_segment(LoopState& next, std::uint64_t token) const noexcept;
  [[nodiscard]] bool verifies() const noexcept { return request_.policy.verify != Verification::off; }
  /// Then nothing may depend on who wrote what, sentences included.
  [[nodiscard]] bool is_strict() const noexcept { return request_.policy.verify == Verification::strict; }
  [[nodiscard]] bool tries_everywhere(const LoopState& next) const noexcept;
  [[nodiscard]] Model answer_leader() const noexcept;
  [[nodiscard]] std::uint64_t longest_segment(const LoopState& next) const noexcept;
  void find_stop_string();
  [[nodiscard]] std::optional<std::uint64_t> answer_start() const;
  void reserve(std::size_t tokens);

  const Vocabulary* vocabulary_;
  Request request_;
  BudgetPlan budget_;
  Noise policy_noise_;
  TokenLog log_;
  LoopState state_;
  std::vector<LoopState> snapshots_;  // state before each provisional token: snapshots_[i] belongs to committed_ + i
  std::vector<AuthorSwitch> switches_;
  std::vector<DroppedToken> just_dropped_;
  std::vector<CueMatch> fired_;      // scratch
  std::vector<std::uint64_t> ends_;  // scratch
  std::uint64_t committed_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t verified_ = 0, refused_ = 0;
  bool awaiting_ = false;    // the provisional tokens are a segment that waits for the large model
  std::uint64_t trial_ = 7;  // length of the next segment where one is tried everywhere
  std::uint64_t visible_bytes_ = 0;
  std::uint64_t searched_bytes_ = 0;  // no stop string lies in this much of the text
  FinishReason finish_ = FinishReason::none;
  bool settled_ = false;
};

}  // namespace relaygen
