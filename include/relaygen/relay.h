// The relay: one text written by two models.
//
// Options in, result out, events on the way. A Generation is one text: create it from a request, run it on an engine,
// read the completion. The token log is the truth; everything else derives from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relaygen/cost_model.h"
#include "relaygen/cues.h"
#include "relaygen/engine.h"
#include "relaygen/error.h"
#include "relaygen/phase.h"
#include "relaygen/sampling.h"
#include "relaygen/token_log.h"

namespace relaygen {

// ---------------------------------------------------------------- policy

/// Where the large model hands over while it is thinking.
enum class HandoffRule : std::uint8_t {
  never,
  cues,    ///< after a selected cue of the request's CueSet
  random,  ///< at the start of a sentence, with probability Policy::random_rate: the control that cues must beat
  opening,  ///< at the first token and never again: the prompt ends behind a cue, as where a single handoff is put to the test
  always,  ///< after every token of its own; the end of a sentence hands nothing back. For verification or the guard
};

/// What the large model must agree to before the small model's tokens in the thinking stand. It reads them anyway when it
/// takes back; what it refuses is replaced by its own choice, and what follows is dropped. Nothing is shown before.
enum class Verification : std::uint8_t {
  off,      ///< nothing: the relay of the paper
  typical,  ///< each token is the large model's own choice or passes Policy::typical. Biased towards the small model
  strict,   ///< each token is the large model's own choice, in the answer too: the text is what it alone would write
};

/// How the large model's tokens are guessed ahead, so that one of its batches yields several. A guess stands only where it
/// is the large model's own choice: this changes how long a text takes and nothing in it.
struct Drafting {
  bool lookup = false;       ///< guess what followed the last tokens where they stood before; costs nothing
  bool small_model = false;  ///< let the small model guess
  std::uint32_t most = 15;   ///< longest draft; how long one is follows from costs and from what stood so far
  double acceptance = 0.8;   ///< share of the small model's guesses expected to stand before any was seen, in (0, 1)

  [[nodiscard]] bool on() const noexcept { return (lookup || small_model) && most > 0; }
};

/// Who writes what. Policies are data: the named ones below are only starting points.
struct Policy {
  Model thinker = Model::large;  ///< who leads the thinking; the small model alone makes no handoffs
  HandoffRule handoffs = HandoffRule::cues;
  Model answer_by = Model::large;       ///< who writes the text after the end-of-thinking tag
  std::uint32_t min_large_tokens = 5;   ///< a cue counts once the large segment holds so many tokens, its own included
  std::uint32_t max_small_tokens = 64;  ///< a small segment in the thinking is cut after this many tokens, >= 1
  double random_rate = 0;               ///< of HandoffRule::random, in [0, 1]
  Verification verify = Verification::off;
  TypicalCriterion typical{};  ///< of Verification::typical
  double guard_margin = 0;     ///< the small model hands back before a token of a lower margin, in [0, 1]; 0: off
  Drafting draft{};
};

// ---------------------------------------------------------------- request

/// Token budgets; -1 means "as much as there is room for". The total is bounded by the window in any case.
struct Budgets {
  std::int32_t total = -1;     ///< thinking and answer together
  std::int32_t thinking = -1;  ///< when it runs out the closing tag is forced, at a sentence end if one comes in time
  std::int32_t answer = -1;    ///< so many stay reserved for the answer; -1: a quarter of the total, 2048 at most
};

/// Everything that defines one text. Two runs of equal requests on equal engines give equal texts.
struct Request {
  std::vector<TokenId> prompt{};  ///< at least one token
  /// So many tokens at the end of the prompt are the beginning of the text: they count against the budgets, and the
  /// sentence, mathematics or code that they end in goes on. At most prompt.size().
  std::uint64_t continued = 0;
  ThinkingTags tags{};
  PromptState prompt_state = PromptState::before_thinking;
  Policy policy{};
  CueSet cues{};  ///< for HandoffRule::cues; its rules (exact or published) also choose the sentence rule
  SamplingOptions sampling{};
  std::uint64_t seed = 0;
  std::uint64_t choice = 0;  ///< index among several texts of the same seed
  Budgets budgets{};
  std::vector<std::string> stop{};  ///< the answer ends before the first occurrence of any of these
  bool judge =
      false;  ///< let the large model's catch-ups tell its log p of the small model's tokens, for a little time
};

/// Checks everything in a request that needs no engine: sampling, policy, budgets, stop strings, tags (the prompt may
/// still be empty). Errors: usage, naming the value and what is allowed.
[[nodiscard]] Status check_values(const Request& request);

// ---------------------------------------------------------------- events

/// Why the author changed.
enum class SwitchReason : std::uint8_t {
  cue,                ///< the large model completed a selected cue
  random,             ///< the random control handed over
  sentence_end,       ///< the small model completed its sentence
  cap,                ///< the small model wrote max_small_tokens
  phase,              ///< the thinking ended
  end_of_generation,  ///< the small model wanted to stop inside the thinking; that token was dropped
  budget,             ///< the thinking budget ran out; the closing tag is forced
  guard,              ///< the small model's margin fell under the guard's; that token was dropped
  refused,            ///< the large model refused the small model's next token
};

[[nodiscard]] std::string_view name(SwitchReason why);
[[nodiscard]] std::string_view name(Verification rule);

/// A token was committed (or, with committed == false, a provisional one was dropped and must not be shown).
struct TokenEvent {
  std::uint64_t index = 0;  ///< position in the token log
  TokenId id = 0;
  std::string_view bytes;  ///< what of it belongs to the text; valid during the call; may split a UTF-8 character
  Author author = Author::large;
  Phase phase = Phase::thinking;
  float margin = 0;
  float logprob = 0;
  bool committed = true;
};

/// The next committed token has another author than the one before it.
struct SegmentEvent {
  std::uint64_t index = 0;  ///< of the first token of the new segment
  Author from = Author::large;
  Author to = Author::small;
  SwitchReason why = SwitchReason::cue;
  std::optional<std::uint32_t> cue{};  ///< index into the request's CueSet, for SwitchReason::cue
};

/// What the large model thinks of tokens that the small model wrote (Request::judge): log p of tokens first_index, first_index + 1, ...
struct JudgedEvent {
  std::uint64_t first_index = 0;
  std::span<const float> large_logprobs;
};

using Event = std::variant<SegmentEvent, TokenEvent, JudgedEvent>;
/// Called in the thread of run(), each event once. What it throws ends the run with an error; the event counts as told.
using EventSink = std::function<void(const Event&)>;

// ---------------------------------------------------------------- result

enum class FinishReason : std::uint8_t {
  none,  ///< not finished
  stop,  ///< a model ended its text
  stop_string,
  length,  ///< a budget or the window is used up
  cancelled,
  error,
};

[[nodiscard]] std::string_view name(FinishReason reason);

/// A maximal run of committed tokens by one author.
struct Segment {
  std::uint64_t first_token = 0;  ///< index in the token log
  std::uint64_t tokens = 0;
  std::uint64_t begin = 0;  ///< bytes in Completion::text, half-open
  std::uint64_t end = 0;
  Author author = Author::large;
  Phase phase = Phase::thinking;       ///< of its first token
  std::optional<std::uint32_t> cue{};  ///< what opened it
  std::optional<SwitchReason> why{};   ///< why it began; none for the first
};

/// Counts of tokens. large + small + forced = thinking + answer.
struct Usage {
  std::uint64_t prompt = 0, large = 0, small = 0, forced = 0;
  std::uint64_t thinking = 0, answer = 0;
  std::uint64_t handoffs = 0;         ///< large to small, the one at the answer included
  std::uint64_t dropped = 0;          ///< provisional tokens that were not kept
  std::uint64_t sentence_starts = 0;  ///< places where the random control could have handed over
  std::uint64_t judged = 0;           ///< small tokens whose large_logprob is known
  double judged_logprob = 0;          ///< sum of those, natural logarithm
  std::uint64_t verified = 0;         ///< small tokens that the large model agreed to
  std::uint64_t refused = 0;          ///< small tokens that it refused, with those that followed in their segments
  std::uint64_t drafted = 0;          ///< guesses that were checked
  std::uint64_t accepted = 0;         ///< of these, the ones that stood

  [[nodiscard]] std::uint64_t generated() const noexcept { return large + small + forced; }
  Usage& operator+=(const Usage& other) noexcept;  ///< counts of several texts
};

/// Seconds by part. A batch that brings a model up to date and continues it counts as catch-up (or verification) as a
/// whole; the small model's guesses count as its decodes.
struct Timing {
  double prefill = 0;       ///< batches that hold prompt tokens
  double large_decode = 0;  ///< batches of one token
  double small_decode = 0;
  double catch_up = 0;                                                ///< batches of several generated tokens
  double verify = 0;                                                  ///< the large model's that check some of them
  double total = 0;                                                   ///< inside run()
  std::uint64_t large_decodes = 0, small_decodes = 0, catch_ups = 0;  ///< numbers of such batches
  std::uint64_t verifies = 0;
  [[nodiscard]] double other() const noexcept {
    return total - prefill - large_decode - small_decode - catch_up - verify;
  }
};

struct Completion {
  std::string text{};      ///< everything after the prompt, tags included; bytes as the models wrote them
  std::string thinking{};  ///< without tags and surrounding white space
  std::string answer{};    ///< likewise; the whole text where there is no tag
  std::vector<Segment> segments{};
  Usage usage;
  Timing timing;
  FinishReason finish = FinishReason::none;
  std::optional<Error> error{};  ///< for FinishReason::error and cancelled; the text up to there is kept
};

// ---------------------------------------------------------------- generation

/// Seconds from any fixed point; monotonic.
using Clock = std::function<double()>;
[[nodiscard]] Clock steady_clock();

/// How to run.
struct RunOptions {
  EventSink events;                           ///< may be empty
  const std::atomic<bool>* cancel = nullptr;  ///< looked at before every step
  Clock clock = steady_clock();               ///< must not be empty
  const CostModel* costs = nullptr;           ///< of this machine, for the length of drafts; null: usual ones
};

/// One text in the making. Movable, not thread-safe. An error leaves it consistent: run() again goes on from the last
/// token, on the same engine or on another one of the same pair, whatever was run there meanwhile.
class Generation {
 public:
  /// Checks the request against the engine. Errors: bad_input (empty prompt, token ids out of range), too_long (no room
  /// for an answer after the prompt), usage (policy and sampling values out of range, verification on an engine that
  /// cannot cut its caches), out_of_memory. On such an engine nothing is drafted.
  [[nodiscard]] static Result<Generation> create(const Engine& engine, Request request);

  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  /// Takes over from an earlier text on the same engine: what the caches hold of a common prefix is not decoded again.
  /// Does nothing where another text used the engine in between. Call before the first step.
  void reuse_cache(const Generation& previous, Engine& engine);

  /// Decodes until the text is finished. Errors are values;
  /// the completion keeps what was written.
  [[nodiscard]] Status run(Engine& engine, const RunOptions& options = {});

  /// One batch of one model and what follows from it. Returns true while there is more to do. run() is a loop of this.
  [[nodiscard]] Result<bool> step(Engine& engine, const RunOptions& options);

  [[nodiscard]] const TokenLog& log() const noexcept;
  [[nodiscard]] const Request& request() const noexcept;
  [[nodiscard]] FinishReason finish() const noexcept;

  /// The text so far with its segments and counts; O(text).
  [[nodiscard]] Completion completion() const;

 private:
  class Impl;
  explicit Generation(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// Lets each model write two tokens, so that first touches of the weights are in nobody's time. Failures show later.
void warm_up(Engine& engine);

}  // namespace relaygen
