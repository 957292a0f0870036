#include "support/naive_loop.h"

#include <algorithm>
#include <string>

#include "relaygen/sampling.h"
#include "relaygen/sentence.h"

namespace relaygen::testing {
namespace {

// All that is certain about a text at its last token, found by reading it from the start, token by token.
struct Reading {
  std::vector<CueMatch> new_cues;  // became certain with the last token
  std::vector<std::uint64_t> new_ends;
  std::vector<std::uint64_t> all_ends;
  std::optional<std::uint64_t> waiting;
  CueMatcher matcher;
  bool answering = false;
  std::vector<std::uint64_t> starts;  // of each token
  std::uint64_t size = 0;
};

class Naive {
 public:
  Naive(const Vocabulary& vocabulary, const Request& request, const NaiveModel& model, std::size_t total)
      : vocabulary_(vocabulary), request_(request), model_(model), total_(total) {}

  NaiveResult run() {
    const bool large_thinks = request_.policy.thinker == Model::large && !read().answering;
    if (request_.policy.handoffs == HandoffRule::opening && large_thinks && !over()) small_segment({true, 0});
    while (!over()) {
      const Model leader = read().answering ? answer_leader() : request_.policy.thinker;
      if (!write(leader) || leader == Model::small) continue;
      if (auto opening = handoff()) small_segment(*opening);
    }
    return result_;
  }

 private:
  Model answer_leader() const {
    return request_.policy.verify == Verification::strict ? Model::large : request_.policy.answer_by;
  }

  bool everywhere(bool answering) const {
    if (!answering) return request_.policy.handoffs == HandoffRule::always;
    return request_.policy.verify == Verification::strict && request_.policy.answer_by == Model::small;
  }

  bool over() const { return result_.ended || result_.tokens.size() >= total_; }

  Reading read() const {
    Reading reading;
    reading.answering = request_.prompt_state == PromptState::answering;
    PhaseTracker phase(request_.prompt_state);
    SentenceEnds sentences(request_.cues.rules());
    const bool is_strict = request_.policy.verify == Verification::strict;
    std::size_t index = 0;
    for (const NaiveToken& token : result_.tokens) {
      const bool was_tried = std::count(tried_handoffs_.begin(), tried_handoffs_.end(), index++) > 0;
      if (was_tried && !is_strict) sentences.begin_segment();
      const auto piece = vocabulary_.piece(token.id);
      reading.starts.push_back(reading.size);
      reading.size += piece.size();
      reading.new_cues.clear();
      reading.new_ends.clear();
      const bool thinking = phase.phase() == Phase::thinking;
      (void)phase.feed(request_.tags, piece);
      if (!thinking) continue;
      const bool large_takes_over =
          index >= 2 && result_.tokens[index - 2].author == Author::small && token.author == Author::large;
      if (large_takes_over && request_.cues.rules() == Rules::published) reading.matcher.restart();
      reading.matcher.feed(request_.cues, piece, reading.new_cues);
      sentences.feed(piece, reading.new_ends);
      reading.all_ends.insert(reading.all_ends.end(), reading.new_ends.begin(), reading.new_ends.end());
    }
    if (std::count(tried_handoffs_.begin(), tried_handoffs_.end(), index) > 0 && !is_strict) sentences.begin_segment();
    reading.waiting = sentences.waiting();
    reading.answering = phase.phase() == Phase::answer;
    return reading;
  }

  std::vector<TokenId> context(std::size_t tokens) const {
    std::vector<TokenId> context = request_.prompt;
    for (std::size_t i = 0; i < tokens; ++i) context.push_back(result_.tokens[i].id);
    return context;
  }

  Choice sample(Model model, std::size_t tokens) const {
    const auto before = context(tokens);
    Sampler sampler(request_.sampling, Noise(request_.seed, NoiseStream::tokens, request_.choice));
    return sampler.choose(model_(model, before), before, before.size());
  }

  bool write(Model model) {
    const TokenId id = sample(model, result_.tokens.size()).token;
    if (vocabulary_.ends_generation(id)) {
      result_.ended = true;
      return false;
    }
    result_.tokens.push_back({id, author_of(model)});
    return true;
  }

  std::size_t first_token_of_large_segment() const {
    std::size_t first = result_.tokens.size();
    while (first > 0 && result_.tokens[first - 1].author == Author::large) --first;
    return first;
  }

  // Whether the large model hands over after its newest token: nothing, or whether that is certain already, with the
  // byte at which the cue or sentence ended.
  struct Opening {
    bool certain;
    std::uint64_t boundary;
  };
  std::optional<Opening> handoff() const {
    const Reading reading = read();
    if (over()) return std::nullopt;
    if (everywhere(reading.answering)) return Opening{true, reading.size};
    if (reading.answering) return std::nullopt;
    const std::size_t first = first_token_of_large_segment();
    const std::uint64_t segment_byte = reading.starts[first];
    const auto long_enough = [&](std::uint64_t byte) {
      std::size_t count = 0;
      for (std::size_t i = first; i < result_.tokens.size(); ++i) count += reading.starts[i] < byte ? 1 : 0;
      return count >= request_.policy.min_large_tokens;
    };
    if (request_.policy.handoffs == HandoffRule::cues) {
      for (const CueMatch& match : reading.new_cues) {
        if (match.end <= segment_byte) continue;
        if (!long_enough(match.end)) continue;
        if (std::any_of(reading.all_ends.begin(), reading.all_ends.end(), [&](auto end) { return end > match.end; }))
          continue;
        if (reading.waiting && *reading.waiting > match.end) continue;
        return Opening{true, match.end};
      }
      if (reading.matcher.may_fire_here(request_.cues) && long_enough(reading.size))
        return Opening{false, reading.size};
    }
    if (request_.policy.handoffs == HandoffRule::random && long_enough(reading.size)) {
      const bool certain = !reading.new_ends.empty() && reading.new_ends.back() > reading.starts.back();
      const bool waits = reading.waiting == reading.size;
      const Noise noise(request_.seed, NoiseStream::random_policy, request_.choice);
      const std::size_t position = request_.prompt.size() + result_.tokens.size();
      if ((certain || waits) && noise.uniform(position, 0) < request_.policy.random_rate)
        return Opening{!waits, reading.size};
    }
    return std::nullopt;
  }

  void small_segment(Opening opening) {
    const std::size_t first = result_.tokens.size();
    tried_handoffs_.push_back(first);
    const std::uint64_t first_byte = read().size;
    const bool was_answering = read().answering;
    const bool is_everywhere = everywhere(was_answering);
    const Policy& policy = request_.policy;
    const bool verifies = policy.verify != Verification::off;
    const std::size_t longest =
        is_everywhere && verifies ? std::min<std::size_t>(trial_, policy.max_small_tokens) : policy.max_small_tokens;
    bool certain = opening.certain;
    const auto refuse = [&] { result_.tokens.resize(first); };
    while (true) {
      if (result_.tokens.size() >= total_) {
        if (!certain) refuse();
        break;
      }
      const Choice choice = sample(Model::small, result_.tokens.size());
      const TokenId id = choice.token;
      if (vocabulary_.ends_generation(id) || static_cast<double>(choice.margin) < policy.guard_margin) {
        if (!certain) refuse();
        break;
      }
      result_.tokens.push_back({id, Author::small});
      Reading reading = read();
      if (is_everywhere) reading.new_ends.clear();
      if (!certain) {
        if (request_.policy.handoffs == HandoffRule::random) {
          certain = std::count(reading.new_ends.begin(), reading.new_ends.end(), opening.boundary) > 0;
          if (!certain && reading.waiting != opening.boundary) return refuse();
        } else {
          certain = std::any_of(reading.new_cues.begin(), reading.new_cues.end(),
                                [&](const CueMatch& m) { return m.end == opening.boundary; });
          if (!certain && !reading.matcher.undecided(request_.cues, opening.boundary)) return refuse();
        }
      }
      const auto end =
          std::find_if(reading.new_ends.begin(), reading.new_ends.end(), [&](auto byte) { return byte > first_byte; });
      const bool full = result_.tokens.size() - first >= longest;
      const bool thought = reading.answering && !was_answering;
      if (thought || end != reading.new_ends.end() || full) {
        if (!certain) return refuse();
        if (!thought && end != reading.new_ends.end()) {
          // Tokens that begin at or after the end of the sentence only showed that it is over.
          while (reading.starts[result_.tokens.size() - 1] >= *end) result_.tokens.pop_back();
        }
        break;
      }
    }
    if (verifies) verify(first);
  }

  // The large model reads the segment token by token.
  void verify(std::size_t first) {
    const std::size_t tokens = result_.tokens.size() - first;
    if (tokens == 0) return;
    for (std::size_t i = first; i < result_.tokens.size(); ++i) {
      const auto row = model_(Model::large, context(i));
      const TokenId id = result_.tokens[i].id;
      const Choice own = sample(Model::large, i);
      if (own.token == id) continue;
      if (request_.policy.verify == Verification::typical && is_plausible(row, id, request_.policy.typical)) continue;
      result_.tokens.resize(i);
      if (i - first < trial_ / 2) trial_ = std::max<std::size_t>(trial_ / 2, 3);
      write(Model::large);
      if (auto opening = result_.ended ? std::nullopt : handoff()) small_segment(*opening);
      return;
    }
    if (tokens >= trial_) trial_ = std::min<std::size_t>(2 * trial_ + 1, 63);
  }

  const Vocabulary& vocabulary_;
  const Request& request_;
  const NaiveModel& model_;
  std::size_t total_;
  std::vector<std::size_t> tried_handoffs_;  // token counts at which the small model took over, if only provisionally
  std::size_t trial_ = 7;                    // length of the next segment where one is tried everywhere
  NaiveResult result_;
};

}  // namespace

NaiveResult naive_relay(const Vocabulary& vocabulary, const Request& request, const NaiveModel& model,
                        std::size_t total) {
  return Naive(vocabulary, request, model, total).run();
}

}  // namespace relaygen::testing
