// Proof on policy: the small model writes the sentence behind a candidate, the large one finishes. Is the answer another
// one than where the large model wrote it all?
//
// Everything goes on from a place of a trace. With the seed of a sampled trace the large model alone would write that
// very trace again, so nothing needs to be written for it. Dice cast again change answers too, whoever writes; so the
// large model goes on a second time with another seed, and a candidate answers only for what it changes beyond that.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "calibrate/scores.h"
#include "calibrate/store.h"
#include "relaygen/relay.h"

namespace relaygen::calibrate {

/// A place where a candidate stands.
struct ProofPlace {
  TraceKey trace{};
  std::uint32_t cue = 0;
  std::uint32_t token = 0;  ///< the first that the small model writes
  auto operator<=>(const ProofPlace&) const = default;
};

/// Up to `count` places for each candidate, spread over problems first and then over their traces; which of them is a
/// matter of the seed. Places that were chosen for a smaller count are among those for a larger one.
[[nodiscard]] std::vector<ProofPlace> choose_places(std::span<const ProofPlace> all, std::uint32_t count,
                                                    std::uint64_t seed);

/// The arms that a place needs: relay and, beside a sampled trace, other; beside an imported one, same.
[[nodiscard]] std::vector<Arm> arms_of(const Trace& trace);

struct ProofOptions {
  SamplingOptions sampling{};
  Budgets budgets{};
  ThinkingTags tags{};
  std::uint32_t max_small_tokens = 64;
  Rules rules = Rules::exact;  ///< for the end of the small model's sentence
};

/// Writes on from a place, once for each arm. The second takes over what the first left in the caches; nothing comes
/// from earlier places, so that the same place gives the same texts whatever was run before. Errors: those of Generation.
[[nodiscard]] Result<std::vector<ProofText>> write_on(Engine& engine, const Trace& trace, std::uint32_t token,
                                                      const ProofOptions& options, const eval::Problem& problem,
                                                      const std::atomic<bool>& cancel);

/// Lets the small model answer behind the thinking of a finished trace, with the trace's seed. Errors: those of Generation.
[[nodiscard]] Result<SmallAnswer> answer_small(Engine& engine, const Trace& trace, const ProofOptions& options,
                                               const eval::Problem& problem, const std::atomic<bool>& cancel);

/// What came out at the places of one candidate.
struct CueProof {
  std::uint32_t places = 0, problems = 0;
  std::uint32_t flips = 0;      ///< the answer is another one than the large model's with the same seed
  std::uint32_t own_flips = 0;  ///< so often the large model's own answer is another one, with other dice
  Interval flip_rate{}, own_flip_rate{};
  /// What a handoff loses, as a share of the answers: of right ones where those are known, else flips - own flips.
  Interval loss{};
  bool graded = false;  ///< loss is of right answers
};

/// The answer of a text's part after the thinking; none where it was cut or holds none. Problems that nothing is known
/// about are taken for mathematics.
[[nodiscard]] std::optional<std::string> answer_in(std::string_view text, bool finished, eval::AnswerKind kind,
                                                   std::size_t choices);
[[nodiscard]] std::optional<std::string> answer_of(const Trace& trace, const Extent& extent,
                                                   const eval::Problem& problem);

/// Whether two answers are one. An answer that is not there equals only another one that is not there.
[[nodiscard]] bool same_answer(const std::optional<std::string>& a, const std::optional<std::string>& b,
                               eval::AnswerKind kind);

/// What the arms at one place say.
struct PlaceOutcome {
  std::string problem{};
  bool flipped = false, own_flipped = false;
  std::optional<bool> right{}, right_same{}, right_other{};  ///< where the right answer is known
};

/// Means with intervals that are clustered by problem. Requires at least one outcome.
[[nodiscard]] CueProof summarise_proof(std::span<const PlaceOutcome> outcomes);

}  // namespace relaygen::calibrate
