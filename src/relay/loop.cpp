#include "relay/loop.h"

#include <algorithm>
#include <limits>

namespace relaygen {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// Segments that are tried everywhere get longer while the large model agrees and shorter where it does not. With the
// token before them they make batches of 4, 8, 16, ... rows, which CPUs work off for little more than fewer.
constexpr std::uint64_t kShortestTrial = 3, kLongestTrial = 63;

bool thinks(const Request& request) { return !request.tags.ends.empty(); }

}  // namespace

Loop::Loop(const Vocabulary& vocabulary, Request request, BudgetPlan budget)
    : vocabulary_(&vocabulary),
      request_(std::move(request)),
      budget_(std::move(budget)),
      policy_noise_(request_.seed, NoiseStream::random_policy, request_.choice) {
  for (const TokenId id : request_.prompt) log_.append(TokenRecord{.id = id});
  committed_ = log_.size();
  // Without a begin tag the thinking is under way from the first token.
  if (request_.prompt_state == PromptState::before_thinking && request_.tags.begin.empty())
    request_.prompt_state = PromptState::thinking;
  state_.phase = PhaseTracker(request_.prompt_state);
  state_.sentences = SentenceEnds(request_.cues.rules());
  if (state_.phase.phase() == Phase::thinking) {
    for (std::uint64_t i = log_.size() - request_.continued; i < log_.size(); ++i)
      state_.sentences.feed(piece(i), ends_);
    state_.sentences.begin_text();
  }
  state_.leader = state_.phase.phase() == Phase::answer ? answer_leader() : request_.policy.thinker;
  state_.large_segment_token = log_.size();
  if (request_.policy.handoffs == HandoffRule::opening && state_.leader == Model::large &&
      state_.phase.phase() == Phase::thinking) {
    state_.handoff = Handoff{.token = log_.size(), .why = SwitchReason::cue, .cue = std::nullopt, .confirmed = true};
    state_.leader = Model::small;
    if (!is_strict()) state_.sentences.begin_segment();
  }
}

// ---------------------------------------------------------------- feeding

bool Loop::feed(LoopState& next, std::string_view piece) {
  fired_.clear();
  ends_.clear();
  const bool thinking = next.phase.phase() == Phase::thinking;
  (thinking ? next.thinking_tokens : next.answer_tokens) += 1;
  next.bytes += piece.size();
  const bool thinking_ended = next.phase.feed(request_.tags, piece).has_value();
  if (!thinking) return false;
  if (request_.policy.handoffs == HandoffRule::cues) next.cues.feed(request_.cues, piece, fired_);
  next.sentences.feed(piece, ends_);
  if (!ends_.empty()) {
    next.sentence_end = ends_.back();
    if (!next.handoff) next.sentence_starts += ends_.size();
  }
  return thinking_ended;
}

void Loop::accept(const Choice& choice) {
  reserve(1);
  const TokenRecord record{.id = choice.token,
                           .author = author_of(state_.leader),
                           .phase = state_.phase.phase(),
                           .margin = choice.margin,
                           .logprob = choice.logprob};
  if (vocabulary_->ends_generation(choice.token)) {
    accept_end_of_generation(record);
  } else if (state_.handoff && static_cast<double>(choice.margin) < request_.policy.guard_margin) {
    hand_back(record, SwitchReason::guard);
  } else if (state_.handoff) {
    accept_in_small_segment(state_, record);
  } else {
    accept_free(state_, record);
  }
}

void Loop::accept_end_of_generation(const TokenRecord& record) {
  if (!state_.handoff) {
    finish_ = FinishReason::stop;
    settled_ = false;
  } else {
    hand_back(record, SwitchReason::end_of_generation);
  }
}

// The small model hands back in the middle of its segment, without the newest token.
void Loop::hand_back(const TokenRecord& record, SwitchReason why) {
  take_back(state_.handoff->confirmed ? Cut{log_.size(), &state_} : cut_at_handoff(), &record, why);
}

void Loop::accept_free(LoopState next, const TokenRecord& record) {
  const bool thinking_ended = feed(next, vocabulary_->piece(record.id));
  if (thinking_ended) next.leader = answer_leader();
  if (next.leader == Model::large && (next.phase.phase() == Phase::thinking || tries_everywhere(next)))
    open_handoff(next);
  if (thinking_ended && !next.handoff) {
    append(std::move(next), record);
    record_switch(author_of(state_.leader), SwitchReason::phase);
    return;
  }
  append(std::move(next), record);
  if (state_.handoff) record_switch(Author::small, state_.handoff->why, state_.handoff->cue);
}

void Loop::accept_in_small_segment(LoopState next, const TokenRecord& record) {
  const bool thinking_ended = feed(next, vocabulary_->piece(record.id));
  Handoff& handoff = *next.handoff;
  if (!handoff.confirmed) {
    const Boundary found = boundary(next, handoff);
    if (found == Boundary::refused) return take_back(cut_at_handoff(), &record, SwitchReason::sentence_end);
    handoff.confirmed = found == Boundary::confirmed;
  }
  if (tries_everywhere(next)) ends_.clear();  // there the end of a sentence means nothing
  const auto end = std::find_if(ends_.begin(), ends_.end(), [&](std::uint64_t byte) { return byte > handoff.byte; });
  const bool full = log_.size() + 1 - handoff.token >= longest_segment(next) || (verifies() && has_to_close(next));
  const bool over = thinking_ended || end != ends_.end() || full;
  if (over && !handoff.confirmed) return take_back(cut_at_handoff(), &record, SwitchReason::sentence_end);
  if (over && !thinking_ended && end != ends_.end()) {
    if (const auto cut = cut_at_byte(*end)) return take_back(*cut, &record, SwitchReason::sentence_end);
  }

  if (handoff.confirmed && !switches_.empty() && switches_.back().token == handoff.token)
    switches_.back().cue = handoff.cue;
  if (!over) {
    append_provisional(std::move(next), record);
    const auto waiting = state_.sentences.waiting();
    if (state_.handoff->confirmed && !verifies()) commit_before(waiting.value_or(kNever));
    return;
  }
  const SwitchReason why = thinking_ended       ? SwitchReason::phase
                           : end != ends_.end() ? SwitchReason::sentence_end
                                                : SwitchReason::cap;
  next.handoff.reset();
  next.leader = thinking_ended && !verifies() ? answer_leader() : Model::large;
  begin_large_segment(next, log_.size() + 1);
  append_provisional(std::move(next), record);
  awaiting_ = verifies();
  if (!awaiting_) commit_before(kNever);
  record_switch(author_of(state_.leader), why);
}

// ---------------------------------------------------------------- verification

void Loop::agree() noexcept {
  const std::uint64_t tokens = unverified();
  verified_ += tokens;
  if (tokens >= trial_) trial_ = std::min(2 * trial_ + 1, kLongestTrial);
  awaiting_ = false;
  commit_before(kNever);
  if (state_.phase.phase() == Phase::answer && answer_leader() == Model::small) {
    state_.leader = Model::small;
    record_switch(Author::small, SwitchReason::phase);  // it wrote the last token too: nobody takes over
  }
  settled_ = false;
}

void Loop::refuse(std::uint64_t index, const Choice& choice) {
  const std::uint64_t agreed = index - committed_;
  const std::uint64_t refused = log_.size() - index;
  reserve(2);
  take_back({index, &snapshots_[agreed]}, nullptr, SwitchReason::refused);
  verified_ += agreed;
  refused_ += refused;
  if (agreed < trial_ / 2) trial_ = std::max(trial_ / 2, kShortestTrial);
  settle();  // what was agreed to may hold a stop string
  if (finish_ == FinishReason::none) accept(choice);
}

Model Loop::answer_leader() const noexcept {
  // Where every token has to be the large model's own, the small one can only be tried.
  return is_strict() ? Model::large : request_.policy.answer_by;
}

bool Loop::tries_everywhere(const LoopState& next) const noexcept {
  if (next.phase.phase() == Phase::thinking) return request_.policy.handoffs == HandoffRule::always;
  return is_strict() && request_.policy.answer_by == Model::small;
}

std::uint64_t Loop::longest_segment(const LoopState& next) const noexcept {
  const std::uint64_t most = request_.policy.max_small_tokens;
  return verifies() && tries_everywhere(next) ? std::min(trial_, most) : most;
}

// ---------------------------------------------------------------- drafts

bool Loop::large_goes_on() const {
  return finish_ == FinishReason::none && state_.leader == Model::large && !must_force() && unverified() == 0;
}

std::uint64_t Loop::room() const {
  const auto left = [](std::uint64_t budget, std::uint64_t used) { return budget - std::min(budget, used); };
  std::uint64_t room = left(budget_.total, log_.size() - request_.prompt.size());
  if (can_force(state_)) room = std::min(room, left(budget_.thinking, state_.thinking_tokens));
  if (state_.phase.phase() == Phase::answer) room = std::min(room, left(budget_.answer, state_.answer_tokens));
  return room;
}

bool Loop::ends_draft(LoopState& preview, TokenId token) {
  const bool thinking_ended = feed(preview, vocabulary_->piece(token));
  if (thinking_ended && answer_leader() != Model::large) return true;
  if (tries_everywhere(preview)) return true;
  if (preview.phase.phase() == Phase::answer || request_.policy.handoffs != HandoffRule::cues) return false;
  return !fired_.empty() || preview.cues.may_fire_here(request_.cues);
}

// ---------------------------------------------------------------- handing over

// How many tokens of the current large segment begin before `byte`, the one being accepted included.
std::uint64_t Loop::large_tokens_until(const LoopState& next, std::uint64_t byte) const {
  std::uint64_t tokens = log_.size() + 1 - next.large_segment_token;
  std::uint64_t start = state_.bytes;  // of the token being accepted
  for (std::uint64_t i = log_.size(); start >= byte && tokens > 0; --tokens) {
    if (i == next.large_segment_token) break;
    --i;
    start -= piece(i).size();
  }
  return tokens;
}

void Loop::open_handoff(LoopState& next) const {
  if (next.refused_at == next.bytes) return;
  if (tries_everywhere(next)) {
    next.handoff = Handoff{.token = log_.size() + 1,
                           .byte = next.bytes,
                           .cue_end = next.bytes,
                           .why = next.phase.phase() == Phase::answer ? SwitchReason::phase : SwitchReason::cue,
                           .cue = std::nullopt,
                           .confirmed = true};
  } else {
    if (request_.policy.handoffs == HandoffRule::cues) open_cue_handoff(next);
    if (request_.policy.handoffs == HandoffRule::random) open_random_handoff(next);
  }
  if (!next.handoff) return;
  next.leader = Model::small;
  if (!is_strict()) next.sentences.begin_segment();
}

void Loop::open_cue_handoff(LoopState& next) const {
  const std::uint64_t needed = request_.policy.min_large_tokens;
  for (const CueMatch& match : fired_) {
    if (match.end <= next.large_segment_byte || large_tokens_until(next, match.end) < needed) continue;
    // A cue may become certain late. Where its sentence is over meanwhile there is nothing left to hand over.
    if (next.sentence_end > match.end || next.sentences.waiting().value_or(0) > match.end) continue;
    next.handoff = Handoff{.token = log_.size() + 1,
                           .byte = next.bytes,
                           .cue_end = match.end,
                           .why = SwitchReason::cue,
                           .cue = match.cue,
                           .confirmed = true};
    return;
  }
  if (next.cues.may_fire_here(request_.cues) && large_tokens_until(next, next.bytes) >= needed) {
    next.handoff = Handoff{.token = log_.size() + 1,
                           .byte = next.bytes,
                           .cue_end = next.bytes,
                           .why = SwitchReason::cue,
                           .cue = std::nullopt,
                           .confirmed = false};
  }
}

void Loop::open_random_handoff(LoopState& next) const {
  const bool certain = !ends_.empty() && ends_.back() > state_.bytes;  // the sentence ended inside the newest token
  const bool waiting = next.sentences.waiting() == next.bytes;
  if (!certain && !waiting) return;
  if (large_tokens_until(next, next.bytes) < request_.policy.min_large_tokens) return;
  if (policy_noise_.uniform(log_.size() + 1, 0) >= request_.policy.random_rate) return;
  next.handoff = Handoff{.token = log_.size() + 1,
                         .byte = next.bytes,
                         .cue_end = next.bytes,
                         .why = SwitchReason::random,
                         .cue = std::nullopt,
                         .confirmed = !waiting};
}

// ---------------------------------------------------------------- taking back

// What the newest token says about the boundary at which the small model took over provisionally.
Loop::Boundary Loop::boundary(const LoopState& next, Handoff& handoff) const {
  if (handoff.why == SwitchReason::random) {
    if (std::find(ends_.begin(), ends_.end(), handoff.cue_end) != ends_.end()) return Boundary::confirmed;
    return next.sentences.waiting() == handoff.cue_end ? Boundary::unknown : Boundary::refused;
  }
  for (const CueMatch& match : fired_) {
    if (match.end != handoff.cue_end) continue;
    handoff.cue = match.cue;
    return Boundary::confirmed;
  }
  return next.cues.undecided(request_.cues, handoff.cue_end) ? Boundary::unknown : Boundary::refused;
}

std::optional<Loop::Cut> Loop::cut_at_byte(std::uint64_t byte) const {
  for (std::size_t i = 0; i < snapshots_.size(); ++i) {
    if (snapshots_[i].bytes >= byte) return Cut{committed_ + i, &snapshots_[i]};
  }
  if (state_.bytes >= byte) return Cut{log_.size(), &state_};
  return std::nullopt;
}

Loop::Cut Loop::cut_at_handoff() const {
  const std::uint64_t token = state_.handoff->token;
  return token == log_.size() ? Cut{token, &state_} : Cut{token, &snapshots_[token - committed_]};
}

void Loop::begin_large_segment(LoopState& next, std::uint64_t token) const noexcept {
  next.large_segment_token = token;
  next.large_segment_byte = next.bytes;
  if (request_.cues.rules() == Rules::published) next.cues.restart();  // the reference code looks at each chunk alone
}

void Loop::take_back(const Cut& cut, const TokenRecord* newest, SwitchReason why) {
  LoopState next = *cut.state;
  const bool nothing_stays = cut.token == next.handoff->token;
  if (nothing_stays) {
    next.refused_at = next.bytes;  // nothing was written: the large segment goes on as if there had been no handoff
  } else {
    begin_large_segment(next, cut.token);
  }
  next.handoff.reset();
  next.leader = Model::large;

  const std::size_t dropped_before = just_dropped_.size();
  for (std::uint64_t i = cut.token; i < log_.size(); ++i) just_dropped_.push_back({i, log_[i]});
  if (newest != nullptr) just_dropped_.push_back({log_.size(), *newest});
  dropped_ += just_dropped_.size() - dropped_before;
  log_.truncate(cut.token);
  state_ = std::move(next);
  awaiting_ = verifies() && !awaiting_ && !nothing_stays;
  if (awaiting_) {
    snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(log_.size() - committed_), snapshots_.end());
  } else {
    commit_before(kNever);
  }
  record_switch(Author::large, why);
  settled_ = false;
}

// ---------------------------------------------------------------- applying (nothing here can fail)

void Loop::append(LoopState&& next, const TokenRecord& record) noexcept {
  append_provisional(std::move(next), record);
  commit_before(kNever);
}

void Loop::append_provisional(LoopState&& next, const TokenRecord& record) noexcept {
  snapshots_.push_back(std::move(state_));
  state_ = std::move(next);
  log_.append(record);
  log_[log_.size() - 1].committed = false;
  settled_ = false;
}

void Loop::commit_before(std::uint64_t byte) noexcept {
  std::size_t count = 0;
  while (committed_ < log_.size() && snapshots_[count].bytes < byte) {
    log_[committed_].committed = true;
    ++committed_;
    ++count;
  }
  if (byte == kNever) count = snapshots_.size();  // after a cut there are more snapshots than provisional tokens
  snapshots_.erase(snapshots_.begin(), snapshots_.begin() + static_cast<std::ptrdiff_t>(count));
}

void Loop::record_switch(Author to, SwitchReason why, std::optional<std::uint32_t> cue) noexcept {
  const std::uint64_t token = log_.size();
  while (!switches_.empty() && switches_.back().token >= token) switches_.pop_back();
  if (log_[token - 1].author != to) switches_.push_back({token, to, why, cue});
}

void Loop::reserve(std::size_t tokens) {
  const auto room_for = [](auto& vector, std::size_t more) {
    if (vector.capacity() - vector.size() < more) vector.reserve(std::max(vector.size() + more, vector.size() * 2));
  };
  if (log_.capacity() - log_.size() < tokens) log_.reserve(std::max(log_.size() + tokens, log_.size() * 2));
  room_for(snapshots_, tokens);
  room_for(switches_, 2);
  room_for(just_dropped_, log_.size() - committed_ + 1);
}

// ---------------------------------------------------------------- limits

bool Loop::can_force(const LoopState& state) const {
  if (finish_ != FinishReason::none || budget_.close.empty() || state.phase.phase() == Phase::answer) return false;
  return state.phase.opened() || state.bytes == 0;  // else this text does without thinking
}

// Whether the thinking has to close here, where everything before is certain.
bool Loop::has_to_close(const LoopState& state) const {
  if (!can_force(state)) return false;
  if (state.thinking_tokens >= budget_.thinking) return true;
  if (state.thinking_tokens + budget_.slack < budget_.thinking) return false;
  return state.bytes > 0 && (state.sentences.waiting() == state.bytes || state.sentence_end == state.bytes);
}

bool Loop::must_force() const { return committed_ == log_.size() && has_to_close(state_); }

void Loop::force() {
  std::vector<TokenId> tokens;
  if (!state_.phase.opened()) tokens = budget_.open;
  const bool after_line_break = state_.bytes > 0 && piece(log_.size() - 1).ends_with('\n');
  const auto& close = after_line_break ? budget_.close_after_line_break : budget_.close;
  tokens.insert(tokens.end(), close.begin(), close.end());
  reserve(tokens.size());

  std::vector<TokenRecord> records;
  LoopState next = state_;
  for (const TokenId id : tokens) {
    records.push_back(TokenRecord{.id = id, .author = Author::forced, .phase = next.phase.phase()});
    feed(next, vocabulary_->piece(id));
  }
  next.handoff.reset();
  next.leader = answer_leader();

  record_switch(Author::forced, SwitchReason::budget);
  for (const TokenRecord& record : records) log_.append(record);
  committed_ = log_.size();
  state_ = std::move(next);
  if (!records.empty()) record_switch(author_of(state_.leader), SwitchReason::phase);
  settled_ = false;
}

std::optional<std::uint64_t> Loop::answer_start() const {
  if (state_.phase.phase() == Phase::answer) return state_.phase.answer_begin().value_or(0);
  if (!thinks(request_)) return 0;
  if (!state_.phase.opened() && !state_.phase.may_open()) return 0;  // it answers without thinking
  return std::nullopt;
}

// Looks for a stop string in what was committed since the last look, and holds back what may become one.
void Loop::find_stop_string() {
  const std::uint64_t end = snapshots_.empty() ? state_.bytes : snapshots_.front().bytes;  // of the committed text
  const auto start = answer_start();
  if (request_.stop.empty() || !start || end <= *start) {
    visible_bytes_ = end;
    return;
  }
  std::size_t longest = 0;
  for (const std::string& stop : request_.stop) longest = std::max(longest, stop.size());

  // Enough of the text for every stop string that ends in the new bytes.
  const std::uint64_t overlap = std::min<std::uint64_t>(searched_bytes_, longest - 1);
  const std::uint64_t from = std::max(*start, searched_bytes_ - overlap);
  std::string tail;
  std::uint64_t begin = end;
  for (std::uint64_t i = committed_; i > request_.prompt.size() && begin > from;) {
    const std::string_view bytes = piece(--i);
    begin -= bytes.size();
    tail.insert(0, bytes);
  }
  if (begin < from) {
    tail.erase(0, from - begin);
    begin = from;
  }
  std::size_t found = std::string::npos;
  std::size_t held = 0;
  for (const std::string& stop : request_.stop) {
    found = std::min(found, tail.find(stop));
    for (std::size_t size = std::min(stop.size() - 1, tail.size()); size > held; --size) {
      if (std::string_view(tail).ends_with(std::string_view(stop).substr(0, size))) held = size;
    }
  }
  searched_bytes_ = end;
  visible_bytes_ = end - held;
  if (found != std::string::npos) {
    visible_bytes_ = begin + found;
    finish_ = FinishReason::stop_string;
  }
}

// A budget is used up while tokens are provisional. A handoff at a cue that waits for its next character has shown
// nothing for itself: it is taken back, and the large model has the room. Otherwise the tokens stand.
void Loop::resolve_provisional() {
  if (committed_ == log_.size() || awaiting_) return;
  if (state_.handoff && !state_.handoff->confirmed) {
    reserve(1);
    take_back(cut_at_handoff(), nullptr, SwitchReason::cap);
  } else if (verifies()) {
    reserve(1);
    take_back({log_.size(), &state_}, nullptr, SwitchReason::cap);
  } else {
    commit_before(kNever);
  }
}

void Loop::settle() {
  if (settled_) return;
  const auto is_used_up = [&] {
    return log_.size() - request_.prompt.size() >= budget_.total ||
           (state_.phase.phase() == Phase::answer && state_.answer_tokens >= budget_.answer);
  };
  if (finish_ == FinishReason::none) {
    if (is_used_up() || (can_force(state_) && state_.thinking_tokens >= budget_.thinking)) resolve_provisional();
    find_stop_string();
    if (finish_ == FinishReason::none && committed_ == log_.size() && is_used_up()) finish_ = FinishReason::length;
  }
  if (finish_ != FinishReason::none && finish_ != FinishReason::stop_string) visible_bytes_ = state_.bytes;
  settled_ = true;
}

}  // namespace relaygen
