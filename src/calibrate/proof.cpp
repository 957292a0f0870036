#include "calibrate/proof.h"

#include <algorithm>

#include "core/statistics.h"
#include "eval/grading.h"
#include "io/hashing.h"

namespace relaygen::calibrate {
namespace {

// Mathematics where nothing is known.
eval::AnswerKind found_as(eval::AnswerKind kind) {
  return kind == eval::AnswerKind::none ? eval::AnswerKind::math : kind;
}

// The text goes on behind the first `token` tokens of the trace.
Request request_from(const Trace& trace, std::uint32_t token, const ProofOptions& options) {
  Request request{.prompt = trace.prompt,
                  .continued = token,
                  .tags = options.tags,
                  .sampling = options.sampling,
                  .seed = trace.seed,
                  .budgets = options.budgets};
  request.prompt.insert(request.prompt.end(), trace.tokens.begin(), trace.tokens.begin() + token);
  return request;
}

std::uint64_t other_seed(std::uint64_t seed) { return Hash().add(seed).add("other dice").value() >> 1; }

// Shares of right ones a problem, as the statistics want them.
class Counts {
 public:
  void add(const std::string& problem, std::uint32_t right, std::uint32_t samples) {
    auto& [sum, all] = counts_[problem];
    sum += right;
    all += samples;
  }
  [[nodiscard]] std::vector<QuestionResult> results() const {
    std::vector<QuestionResult> results;
    for (const auto& [problem, count] : counts_) results.push_back({.right = count.first, .samples = count.second});
    return results;
  }

 private:
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> counts_;
};

Interval rate_of(const Counts& counts) {
  const auto estimate = accuracy(counts.results());
  return {estimate.value, estimate.low, estimate.high};
}

}  // namespace

std::vector<ProofPlace> choose_places(std::span<const ProofPlace> all, std::uint32_t count, std::uint64_t seed) {
  struct Ranked {
    std::uint32_t round;  // how many places of its problem come before it
    std::uint64_t draw;
    ProofPlace place;
  };
  std::map<std::uint32_t, std::map<std::string, std::vector<Ranked>>> by_cue;
  for (const ProofPlace& place : all) {
    const auto draw = Hash()
                          .add(seed)
                          .add(place.trace.problem)
                          .add(std::uint64_t{place.trace.sample})
                          .add(std::uint64_t{place.token})
                          .value();
    by_cue[place.cue][place.trace.problem].push_back({0, draw, place});
  }
  std::vector<ProofPlace> chosen;
  for (auto& [cue, problems] : by_cue) {
    std::vector<Ranked> ranked;
    for (auto& [problem, places] : problems) {
      std::ranges::sort(places, {}, &Ranked::draw);
      for (std::uint32_t round = 0; round < places.size(); ++round) {
        places[round].round = round;
        ranked.push_back(places[round]);
      }
    }
    std::ranges::sort(
        ranked, [](const Ranked& a, const Ranked& b) { return std::tie(a.round, a.draw) < std::tie(b.round, b.draw); });
    for (std::size_t i = 0; i < std::min<std::size_t>(count, ranked.size()); ++i) chosen.push_back(ranked[i].place);
  }
  return chosen;
}

std::vector<Arm> arms_of(const Trace& trace) { return {Arm::relay, trace.imported ? Arm::same : Arm::other}; }

std::optional<std::string> answer_in(std::string_view text, bool finished, eval::AnswerKind kind, std::size_t choices) {
  if (!finished) return std::nullopt;
  return eval::extract_answer(text, found_as(kind), choices);
}

std::optional<std::string> answer_of(const Trace& trace, const Extent& extent, const eval::Problem& problem) {
  if (!extent.graded_from) return std::nullopt;
  return answer_in(std::string_view(trace.text).substr(*extent.graded_from), trace.finished, problem.kind,
                   problem.options.size());
}

bool same_answer(const std::optional<std::string>& a, const std::optional<std::string>& b, eval::AnswerKind kind) {
  if (!a || !b) return a.has_value() == b.has_value();
  return kind == eval::AnswerKind::choice ? *a == *b : eval::equivalent(*a, *b);
}

Result<std::vector<ProofText>> write_on(Engine& engine, const Trace& trace, std::uint32_t token,
                                        const ProofOptions& options, const eval::Problem& problem,
                                        const std::atomic<bool>& cancel) {
  std::vector<ProofText> texts;
  std::optional<Generation> previous;
  for (const Arm arm : arms_of(trace)) {
    Request request = request_from(trace, token, options);
    request.prompt_state = options.tags.ends.empty() ? trace.prompt_state : PromptState::thinking;
    request.policy.handoffs = arm == Arm::relay ? HandoffRule::opening : HandoffRule::never;
    request.policy.max_small_tokens = options.max_small_tokens;
    if (auto none = CueSet::build({}, options.rules)) request.cues = std::move(*none);
    if (arm == Arm::other) request.seed = other_seed(trace.seed);
    auto generation = Generation::create(engine, std::move(request));
    if (!generation) return tl::unexpected(generation.error());
    if (previous) generation->reuse_cache(*previous, engine);
    RunOptions run;
    run.cancel = &cancel;
    if (auto ok = generation->run(engine, run); !ok) return tl::unexpected(ok.error());
    const Completion completion = generation->completion();
    const bool finished = completion.finish == FinishReason::stop;
    texts.push_back({.trace = trace.key,
                     .token = token,
                     .arm = arm,
                     .text = completion.text,
                     .small_tokens = static_cast<std::uint32_t>(completion.usage.small),
                     .finished = finished,
                     .answer = answer_in(completion.answer, finished, problem.kind, problem.options.size())});
    previous = std::move(*generation);
  }
  return texts;
}

Result<SmallAnswer> answer_small(Engine& engine, const Trace& trace, const ProofOptions& options,
                                 const eval::Problem& problem, const std::atomic<bool>& cancel) {
  Request request = request_from(trace, extent_of(trace, options.tags).first_answer, options);
  request.prompt_state = PromptState::answering;
  request.policy.handoffs = HandoffRule::never;
  request.policy.answer_by = Model::small;
  auto generation = Generation::create(engine, std::move(request));
  if (!generation) return tl::unexpected(generation.error());
  RunOptions run;
  run.cancel = &cancel;
  if (auto ok = generation->run(engine, run); !ok) return tl::unexpected(ok.error());
  const Completion completion = generation->completion();
  const bool finished = completion.finish == FinishReason::stop;
  return SmallAnswer{.trace = trace.key,
                     .text = completion.text,
                     .finished = finished,
                     .answer = answer_in(completion.text, finished, problem.kind, problem.options.size())};
}

CueProof summarise_proof(std::span<const PlaceOutcome> outcomes) {
  CueProof proof{.places = static_cast<std::uint32_t>(outcomes.size())};
  proof.graded = std::ranges::all_of(outcomes, [](const PlaceOutcome& one) { return one.right.has_value(); });
  Counts flipped, own_flipped, relay, large;
  std::set<std::string> problems;
  for (const PlaceOutcome& one : outcomes) {
    problems.insert(one.problem);
    proof.flips += one.flipped;
    proof.own_flips += one.own_flipped;
    flipped.add(one.problem, one.flipped, 1);
    own_flipped.add(one.problem, one.own_flipped, 1);
    if (proof.graded) {
      relay.add(one.problem, *one.right ? 2 : 0, 2);
      large.add(one.problem, *one.right_same + *one.right_other, 2);
    } else {
      relay.add(one.problem, one.flipped ? 0 : 1, 1);
      large.add(one.problem, one.own_flipped ? 0 : 1, 1);
    }
  }
  proof.problems = static_cast<std::uint32_t>(problems.size());
  proof.flip_rate = rate_of(flipped);
  proof.own_flip_rate = rate_of(own_flipped);
  const auto gain = accuracy_difference(relay.results(), large.results());
  proof.loss = {0 - gain.value, 0 - gain.high, 0 - gain.low};
  return proof;
}

}  // namespace relaygen::calibrate
