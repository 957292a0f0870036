// From stored traces and opinions to cues: instant, without models, the same bytes from the same file and settings.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/discovery.h"
#include "calibrate/proof.h"
#include "calibrate/scores.h"
#include "calibrate/store.h"

namespace relaygen::calibrate {

/// What a problem is used for. Nothing that was looked at to choose is used to report.
enum class Split : std::uint8_t { selection, thresholds, report };
[[nodiscard]] std::string_view name(Split split);

/// Of all problems 60% choose cues, 20% set thresholds, 20% report; which ones is a matter of the seed and their ids.
/// With fewer than 10 problems all choose.
[[nodiscard]] std::vector<Split> split_problems(const std::vector<eval::Problem>& problems, std::uint64_t seed);

enum class Rule : std::uint8_t {
  effect,     ///< what the large model thinks of what the small model would write, and the proof
  published,  ///< the paper's score is above 0
};

/// Why a candidate is selected or not.
enum class Decision : std::uint8_t {
  selected,
  rare,       ///< too few occurrences or problems to say
  low_score,  ///< published rule: the score is not (surely) above 0
  refused,    ///< effect rule: the large model refuses too much of what the small model would write
  unproven,   ///< effect rule: it may be safe, and too few places show it
  harmful,    ///< the proof: a handoff surely loses answers, and perhaps more than max_loss
  redundant,  ///< the target share is reached without it
};
[[nodiscard]] std::string_view name(Decision decision);

struct AnalysisOptions {
  std::vector<std::string> candidates{};
  bool discover = true;
  Rules rules = Rules::exact;
  Rule rule = Rule::effect;
  std::uint32_t min_count = 20, min_problems = 8;
  double false_rate = 0.05;  ///< of Benjamini-Hochberg: expected share of wrong ones among those that are selected
  double min_safe = 0.8;     ///< effect rule: share of segments in which the large model has to refuse nothing
  double max_loss = 0.05;    ///< effect rule: proven where a handoff surely loses no more, as a share of answers
  std::optional<double> target_share{};
  std::uint32_t min_large_tokens = 0, max_small_tokens = 64;
  ThinkingTags tags{};
  std::uint64_t seed = 0;
  std::uint32_t resamples = 2000;
  TypicalCriterion typical{};
  /// What counts of the store, so that a calibration that goes on decides as if it had not stopped: rounds of traces, and
  /// places of each candidate's proof (as choose_places chooses them). None: everything.
  std::optional<std::uint32_t> rounds{}, proof_places{};
};

/// One candidate with everything that is known of it.
struct Candidate {
  std::string text{};
  bool discovered = false;
  CueScore score{};                 ///< on the problems for selection
  std::optional<CueProof> proof{};  ///< likewise
  double adjusted_p = 1;            ///< Benjamini-Hochberg
  Decision decision = Decision::rare;
  [[nodiscard]] bool selected() const { return decision == Decision::selected; }
};

struct Analysis {
  AnalysisOptions options{};
  std::vector<eval::Problem> problems{};
  std::vector<Split> splits{};  ///< of each problem
  std::vector<Candidate> candidates{};
  std::uint64_t traces = 0, finished = 0, tokens = 0, thinking_tokens = 0;
  std::vector<std::string> notes{};
};

/// Scores, decides. Errors: those of the store; bad_input where nothing can be scored.
[[nodiscard]] Result<Analysis> analyse(const Store& store, const AnalysisOptions& options);

/// Whether more traces would change nothing: the interval of no frequent candidate contains what decides.
[[nodiscard]] bool is_settled(const Analysis& analysis);

/// Frequent candidates that one of the rules would take or that may turn out to be safe, and about which the proof so far
/// does not decide.
[[nodiscard]] std::vector<std::uint32_t> worth_proving(const Analysis& analysis);

/// All places of the candidates, on the problems for selection, of finished traces.
[[nodiscard]] Result<std::vector<ProofPlace>> places_of(const Store& store, const Analysis& analysis,
                                                        const std::vector<std::uint32_t>& candidates);

/// All of them as candidates that fire.
[[nodiscard]] Result<CueSet> cues_of(const std::vector<Candidate>& candidates, Rules rules);

/// The candidates for which `which` holds, the best first by what the rule looks at.
[[nodiscard]] std::vector<std::uint32_t> best_first(const Analysis& analysis,
                                                    const std::function<bool(const Candidate&)>& which);

/// Adds to tokens[i] what one trace hands over if the first i + 1 candidates of `order` are cues.
void add_steps(const Analysis& analysis, const std::vector<std::uint32_t>& order, std::span<const Occurrence> found,
               std::vector<double>& tokens);

/// Benjamini-Hochberg's adjusted p, in the order given.
[[nodiscard]] std::vector<double> adjust(const std::vector<double>& p);

}  // namespace relaygen::calibrate
