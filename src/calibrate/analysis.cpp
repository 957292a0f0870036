#include "calibrate/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "io/hashing.h"

namespace relaygen::calibrate {
namespace {

constexpr std::size_t kMostDiscovered = 200;
constexpr std::size_t kFewProblems = 10;

bool counts(const Trace& trace, const AnalysisOptions& options) {
  return !options.rounds || trace.key.sample < *options.rounds;
}

// What to do with each trace of a split that holds any thinking.
using Visit = std::function<Status(std::uint32_t problem, const Trace& trace, const Extent& extent)>;

Status for_each_of(const Store& store, const Analysis& analysis, Split split, const Visit& visit) {
  std::map<std::string, std::uint32_t> index;
  for (std::uint32_t i = 0; i < analysis.problems.size(); ++i) index[analysis.problems[i].id] = i;
  return store.for_each([&](const Trace& trace) -> Status {
    if (!counts(trace, analysis.options)) return std::monostate{};
    const std::uint32_t problem = index.at(trace.key.problem);
    if (analysis.splits[problem] != split) return std::monostate{};
    const Extent extent = extent_of(trace, analysis.options.tags);
    if (extent.first_thinking >= extent.last_thinking) return std::monostate{};
    return visit(problem, trace, extent);
  });
}

Status find_candidates(const Store& store, Analysis& analysis) {
  std::set<std::string> known;
  for (const auto& text : analysis.options.candidates) {
    if (known.insert(text).second) analysis.candidates.push_back({.text = text});
  }
  if (!analysis.options.discover) return std::monostate{};
  Discovery discovery;
  const auto read = [&](std::uint32_t problem, const Trace& trace, const Extent& extent) -> Status {
    discovery.add(thinking_of(trace, extent), problem);
    return std::monostate{};
  };
  if (auto ok = for_each_of(store, analysis, Split::selection, read); !ok) return ok;
  for (const auto& found :
       discovery.frequent(analysis.options.min_count, analysis.options.min_problems, kMostDiscovered)) {
    // "So" and "So " would claim the same places.
    if (known.contains(found.text) || known.contains(found.text + " ")) continue;
    known.insert(found.text);
    analysis.candidates.push_back({.text = found.text, .discovered = true});
  }
  return std::monostate{};
}

Status score_candidates(const Store& store, Analysis& analysis) {
  const auto cues = cues_of(analysis.candidates, analysis.options.rules);
  if (!cues) return tl::unexpected(cues.error());
  Scoring scoring({.resamples = analysis.options.resamples,
                   .seed = analysis.options.seed,
                   .typical = analysis.options.typical,
                   .min_safe = analysis.options.min_safe});
  bool any = false;
  const auto read = [&](std::uint32_t problem, const Trace& trace, const Extent& extent) -> Status {
    const auto small = store.opinions(trace.key, Model::small);
    if (!small) return tl::unexpected(small.error());
    const auto large = store.opinions(trace.key, Model::large);
    if (!large) return tl::unexpected(large.error());
    if (small->margin.size() != trace.tokens.size()) return std::monostate{};
    if (!large->margin.empty() && large->margin.size() != trace.tokens.size()) return std::monostate{};
    any = true;
    scoring.add(problem, trace, extent, find_occurrences(trace, extent, *cues, analysis.options.max_small_tokens),
                sentence_tails(trace, extent, analysis.options.rules), *small, *large);
    return std::monostate{};
  };
  if (auto ok = for_each_of(store, analysis, Split::selection, read); !ok) return ok;
  if (!any) {
    return fail(ErrorKind::bad_input, "There is no trace to score yet: no model has read one",
                "run the stages traces and margins first");
  }
  for (auto& score : scoring.scores()) {
    if (analysis.options.rule == Rule::effect && !score.judged) {
      return fail(ErrorKind::bad_input, "The large model has not read all of these traces, and the effect rule asks it",
                  "run the stage margins with -m, or choose with --rule published");
    }
    analysis.candidates[score.cue].score = std::move(score);
  }
  return std::monostate{};
}

Status add_proofs(const Store& store, Analysis& analysis) {
  const auto texts = store.proofs();
  if (!texts) return tl::unexpected(texts.error());
  if (texts->empty()) return std::monostate{};
  std::map<std::tuple<TraceKey, std::uint32_t, Arm>, const ProofText*> written;
  for (const auto& text : *texts) written[{text.trace, text.token, text.arm}] = &text;
  const auto cues = cues_of(analysis.candidates, analysis.options.rules);
  if (!cues) return tl::unexpected(cues.error());
  std::vector<ProofPlace> places;
  std::vector<PlaceOutcome> outcomes;  // at each of them
  const auto read = [&](std::uint32_t index, const Trace& trace, const Extent& extent) -> Status {
    const eval::Problem& problem = analysis.problems[index];
    const auto own = answer_of(trace, extent, problem);
    for (const auto& one : find_occurrences(trace, extent, *cues, analysis.options.max_small_tokens)) {
      const auto text = [&](Arm arm) {
        const auto found = written.find({trace.key, one.after.first, arm});
        return found == written.end() ? nullptr : found->second;
      };
      const ProofText* relay = text(Arm::relay);
      const ProofText* again = text(trace.imported ? Arm::same : Arm::other);
      if (relay == nullptr || again == nullptr) continue;
      const auto& same = trace.imported ? again->answer : own;
      const auto& other = trace.imported ? own : again->answer;
      // Where the large model alone comes to no end, or nobody to an answer, there is nothing to compare.
      if (trace.imported && !again->finished) continue;
      if (!relay->answer && !same && !other) continue;
      PlaceOutcome outcome{.problem = problem.id,
                           .flipped = !same_answer(relay->answer, same, problem.kind),
                           .own_flipped = !same_answer(other, same, problem.kind)};
      if (problem.kind != eval::AnswerKind::none && !problem.expected.empty()) {
        const auto right = [&](const std::optional<std::string>& answer) {
          return answer.has_value() && same_answer(answer, problem.expected, problem.kind);
        };
        outcome.right = right(relay->answer);
        outcome.right_same = right(same);
        outcome.right_other = right(other);
      }
      places.push_back({trace.key, one.cue, one.after.first});
      outcomes.push_back(std::move(outcome));
    }
    return std::monostate{};
  };
  if (auto ok = for_each_of(store, analysis, Split::selection, read); !ok) return ok;
  std::set<ProofPlace> chosen(places.begin(), places.end());
  if (analysis.options.proof_places) {
    std::vector<std::uint32_t> everyone(analysis.candidates.size());
    std::iota(everyone.begin(), everyone.end(), 0U);
    const auto all = places_of(store, analysis, everyone);
    if (!all) return tl::unexpected(all.error());
    const auto some = choose_places(*all, *analysis.options.proof_places, analysis.options.seed);
    chosen = {some.begin(), some.end()};
  }
  std::map<std::uint32_t, std::vector<PlaceOutcome>> of_candidate;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (chosen.contains(places[i])) of_candidate[places[i].cue].push_back(outcomes[i]);
  }
  for (const auto& [cue, list] : of_candidate) analysis.candidates[cue].proof = summarise_proof(list);
  return std::monostate{};
}

Status count_traces(const Store& store, Analysis& analysis) {
  std::set<std::string> problems;
  std::uint64_t unended = 0;
  const auto read = [&](const Trace& trace) -> Status {
    if (!counts(trace, analysis.options)) return std::monostate{};
    const Extent extent = extent_of(trace, analysis.options.tags);
    ++analysis.traces;
    analysis.tokens += trace.tokens.size();
    analysis.thinking_tokens += extent.last_thinking - extent.first_thinking;
    analysis.finished += trace.finished;
    unended += !extent.answer_begin;
    problems.insert(trace.key.problem);
    return std::monostate{};
  };
  if (auto ok = store.for_each(read); !ok) return ok;
  const auto& ends = analysis.options.tags.ends;
  if (analysis.traces == 0) {
    return fail(ErrorKind::bad_input, "There are no traces yet", "run the stage traces first, or give --traces FILE");
  }
  if (unended == analysis.traces && !ends.empty()) {
    return fail(ErrorKind::bad_input,
                fmt::format("None of the {} traces has an end of thinking ({})", analysis.traces, ends.front()),
                "give traces of this large model's chat template, or a longer budget");
  }
  if (problems.size() < analysis.options.min_problems) {
    return fail(ErrorKind::bad_input,
                fmt::format("There are traces of {} problems, and a cue has to occur in at least {}", problems.size(),
                            analysis.options.min_problems),
                "give more problems, or a smaller --min-problems");
  }
  if (unended > 0 && !ends.empty())
    analysis.notes.push_back(
        fmt::format("{} of {} traces have no end of thinking; what they hold counts, and proofs leave them out.",
                    unended, analysis.traces));
  return std::monostate{};
}

bool is_rare(const Candidate& one, const AnalysisOptions& options) {
  return one.score.count < options.min_count || one.score.problems < options.min_problems;
}

void decide_published(Analysis& analysis) {
  std::vector<double> p;
  for (const auto& one : analysis.candidates) {
    if (!is_rare(one, analysis.options)) p.push_back(one.score.p_published);
  }
  const auto adjusted = adjust(p);
  std::size_t next = 0;
  for (auto& one : analysis.candidates) {
    if (is_rare(one, analysis.options)) continue;
    one.adjusted_p = adjusted[next++];
    const bool sure = analysis.options.false_rate >= 1 || one.adjusted_p <= analysis.options.false_rate;
    one.decision = one.score.published.value > 0 && sure ? Decision::selected : Decision::low_score;
  }
}

bool is_harmless(const Candidate& one, const AnalysisOptions& options) {
  return one.proof && one.proof->loss.high <= options.max_loss;
}

bool is_harmful(const Candidate& one, const AnalysisOptions& options) {
  return one.proof && one.proof->loss.low > 0 && !is_harmless(one, options);
}

// The large model's opinion says what is likely safe, the proof what really happens. Either may be open: a proof of some
// dozen places cannot tell a loss of 1% from one of 10%, and an opinion about teacher-forced text says nothing about what
// the large model makes of it. So a proof decides where it can, and the opinion where it cannot.
void decide_effect(Analysis& analysis) {
  const auto& options = analysis.options;
  std::vector<double> p;
  for (const auto& one : analysis.candidates) {
    if (!is_rare(one, options)) p.push_back(one.score.p_safe);
  }
  const auto adjusted = adjust(p);
  std::size_t next = 0;
  for (auto& one : analysis.candidates) {
    if (is_rare(one, options)) continue;
    one.adjusted_p = adjusted[next++];
    const bool safe = one.score.safe.value >= options.min_safe && one.adjusted_p <= options.false_rate;
    if (is_harmful(one, options)) {
      one.decision = Decision::harmful;
    } else if (is_harmless(one, options) || safe) {
      one.decision = Decision::selected;
    } else {
      one.decision = one.score.safe.high < options.min_safe ? Decision::refused : Decision::unproven;
    }
  }
}

// Keeps the best of the selected candidates, as many as the target share takes.
Status keep_target_share(const Store& store, Analysis& analysis) {
  if (!analysis.options.target_share) return std::monostate{};
  const auto order = best_first(analysis, &Candidate::selected);
  const auto cues = cues_of(analysis.candidates, analysis.options.rules);
  if (!cues) return tl::unexpected(cues.error());
  std::vector<double> small(order.size());
  double thinking = 0;
  const auto read = [&](std::uint32_t, const Trace& trace, const Extent& extent) -> Status {
    const auto found = find_occurrences(trace, extent, *cues, analysis.options.max_small_tokens);
    thinking += extent.last_thinking - extent.first_thinking;
    add_steps(analysis, order, found, small);
    return std::monostate{};
  };
  if (auto ok = for_each_of(store, analysis, Split::selection, read); !ok) return ok;
  const auto enough =
      std::ranges::find_if(small, [&](double tokens) { return tokens >= *analysis.options.target_share * thinking; });
  if (enough == small.end()) {
    analysis.notes.push_back(
        fmt::format("The cues that qualify hand over {:.1f}% of the thinking, less than the {:.1f}% asked for.",
                    small.empty() ? 0.0 : 100 * small.back() / thinking, 100 * *analysis.options.target_share));
    return std::monostate{};
  }
  for (auto step = static_cast<std::size_t>(enough - small.begin()) + 1; step < order.size(); ++step)
    analysis.candidates[order[step]].decision = Decision::redundant;
  return std::monostate{};
}

}  // namespace

Result<CueSet> cues_of(const std::vector<Candidate>& candidates, Rules rules) {
  std::vector<Cue> cues;
  for (const auto& one : candidates) cues.push_back({one.text, true});
  return CueSet::build(cues, rules);
}

std::vector<std::uint32_t> best_first(const Analysis& analysis, const std::function<bool(const Candidate&)>& which) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < analysis.candidates.size(); ++i) {
    if (which(analysis.candidates[i])) order.push_back(i);
  }
  const bool published = analysis.options.rule == Rule::published;
  std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t i) {
    const CueScore& score = analysis.candidates[i].score;
    return published ? score.published.value : score.safe.value;
  });
  return order;
}

void add_steps(const Analysis& analysis, const std::vector<std::uint32_t>& order, std::span<const Occurrence> found,
               std::vector<double>& tokens) {
  std::vector<bool> best(analysis.candidates.size(), false);
  for (std::size_t step = 0; step < order.size(); ++step) {
    best[order[step]] = true;
    for (const auto& one : handoffs_of(found, best, analysis.options.min_large_tokens))
      tokens[step] += one.after.size();
  }
}

std::string_view name(Split split) {
  switch (split) {
    case Split::selection: return "selection";
    case Split::thresholds: return "thresholds";
    case Split::report: return "report";
  }
  return "?";
}

std::string_view name(Decision decision) {
  switch (decision) {
    case Decision::selected: return "selected";
    case Decision::rare: return "rare";
    case Decision::low_score: return "low_score";
    case Decision::refused: return "refused";
    case Decision::unproven: return "unproven";
    case Decision::harmful: return "harmful";
    case Decision::redundant: return "redundant";
  }
  return "?";
}

std::vector<Split> split_problems(const std::vector<eval::Problem>& problems, std::uint64_t seed) {
  std::vector<Split> splits(problems.size(), Split::selection);
  if (problems.size() < kFewProblems) return splits;
  std::vector<std::size_t> order(problems.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(Hash().add(seed).add("split").add(problems[i].id).value(), i);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(order.size());
    splits[order[i]] = part < 0.6 ? Split::selection : part < 0.8 ? Split::thresholds : Split::report;
  }
  return splits;
}

std::vector<double> adjust(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[i] = least;
  }
  return adjusted;
}

Result<Analysis> analyse(const Store& store, const AnalysisOptions& options) {
  Analysis analysis{.options = options};
  auto problems = store.problems();
  if (!problems) return tl::unexpected(problems.error());
  analysis.problems = std::move(*problems);
  analysis.splits = split_problems(analysis.problems, options.seed);
  if (auto ok = count_traces(store, analysis); !ok) return tl::unexpected(ok.error());
  if (auto ok = find_candidates(store, analysis); !ok) return tl::unexpected(ok.error());
  if (auto ok = score_candidates(store, analysis); !ok) return tl::unexpected(ok.error());
  if (auto ok = add_proofs(store, analysis); !ok) return tl::unexpected(ok.error());
  options.rule == Rule::published ? decide_published(analysis) : decide_effect(analysis);
  if (auto ok = keep_target_share(store, analysis); !ok) return tl::unexpected(ok.error());
  return analysis;
}

bool is_settled(const Analysis& analysis) {
  const auto& options = analysis.options;
  const bool any =
      std::ranges::any_of(analysis.candidates, [&](const Candidate& one) { return !is_rare(one, options); });
  return any && std::ranges::none_of(analysis.candidates, [&](const Candidate& one) {
           // Twice as many occurrences are what another round or two may bring.
           if (is_rare(one, options))
             return one.score.problems >= options.min_problems && 2 * one.score.count >= options.min_count;
           if (analysis.options.rule == Rule::published)
             return one.score.published.low <= 0 && one.score.published.high > 0;
           return one.score.safe.low < analysis.options.min_safe && one.score.safe.high >= analysis.options.min_safe;
         });
}

std::vector<std::uint32_t> worth_proving(const Analysis& analysis) {
  std::vector<std::uint32_t> worth;
  for (std::uint32_t i = 0; i < analysis.candidates.size(); ++i) {
    const Candidate& one = analysis.candidates[i];
    if (one.decision == Decision::rare || is_harmful(one, analysis.options) || is_harmless(one, analysis.options))
      continue;
    if (one.score.published.value > 0 || one.score.safe.high >= analysis.options.min_safe) worth.push_back(i);
  }
  return worth;
}

Result<std::vector<ProofPlace>> places_of(const Store& store, const Analysis& analysis,
                                          const std::vector<std::uint32_t>& candidates) {
  const auto cues = cues_of(analysis.candidates, analysis.options.rules);
  if (!cues) return tl::unexpected(cues.error());
  const std::set<std::uint32_t> wanted(candidates.begin(), candidates.end());
  std::vector<ProofPlace> places;
  const auto read = [&](std::uint32_t, const Trace& trace, const Extent& extent) -> Status {
    if (!trace.finished || !extent.graded_from) return std::monostate{};
    for (const auto& one : find_occurrences(trace, extent, *cues, analysis.options.max_small_tokens)) {
      if (wanted.contains(one.cue)) places.push_back({trace.key, one.cue, one.after.first});
    }
    return std::monostate{};
  };
  if (auto ok = for_each_of(store, analysis, Split::selection, read); !ok) return tl::unexpected(ok.error());
  return places;
}

}  // namespace relaygen::calibrate
