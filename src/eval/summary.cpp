#include "eval/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace relaygen::eval {
namespace {

// One graded output, without its text.
struct Graded {
  std::uint32_t sample = 0;
  Verdict verdict = Verdict::no_answer;
  TokenCounts tokens{};
  TimeSpent time{};
  bool truncated = false;
};

struct Gathered {
  std::vector<std::vector<Graded>> by_problem;  // in the order of the problems
  std::uint64_t errors = 0;
  std::optional<std::string> first_error;
};

QuestionResult result_of(const std::vector<Graded>& samples) {
  QuestionResult result{.samples = static_cast<std::uint32_t>(samples.size())};
  for (const auto& one : samples) {
    result.right += is_right(one.verdict) ? 1 : 0;
    result.seconds += one.time.total;
  }
  return result;
}

double quantile(std::vector<std::uint64_t> values, double share) {  // nearest rank
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = share * static_cast<double>(values.size());
  const auto index = static_cast<std::size_t>(std::max(0.0, std::ceil(rank) - 1));
  return static_cast<double>(values[std::min(index, values.size() - 1)]);
}

double middle(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  std::vector<double> numbers(values.begin(), values.end());
  return median(numbers).value;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Counts, tokens and times over all outputs of a policy.
void add_up(const Gathered& gathered, PolicySummary& summary) {
  double tokens = 0, thinking = 0, answer = 0, large = 0, small = 0, handoffs = 0;
  bool phases = true, authors = true, parts = true;
  TimeSpent::Parts time;
  for (const auto& samples : gathered.by_problem) {
    for (const auto& one : samples) {
      ++summary.outputs;
      ++summary.verdicts[static_cast<std::size_t>(one.verdict)];
      summary.seconds += one.time.total;
      summary.truncated += one.truncated ? 1 : 0;
      summary.lengths.push_back(one.tokens.generated);
      tokens += static_cast<double>(one.tokens.generated);
      phases = phases && one.tokens.phases;
      authors = authors && one.tokens.authors;
      parts = parts && one.time.parts;
      if (one.tokens.phases) {
        thinking += static_cast<double>(one.tokens.phases->thinking);
        answer += static_cast<double>(one.tokens.phases->answer);
      }
      if (one.tokens.authors) {
        large += static_cast<double>(one.tokens.authors->large);
        small += static_cast<double>(one.tokens.authors->small);
        handoffs += static_cast<double>(one.tokens.authors->handoffs);
      }
      if (one.time.parts) {
        time.prefill += one.time.parts->prefill;
        time.large_decode += one.time.parts->large_decode;
        time.small_decode += one.time.parts->small_decode;
        time.catch_up += one.time.parts->catch_up;
        time.verify += one.time.parts->verify;
      }
    }
  }
  const auto count = static_cast<double>(summary.outputs);
  if (summary.outputs == 0) return;
  summary.tokens_mean = tokens / count;
  summary.tokens_median = middle(summary.lengths);
  summary.tokens_p90 = quantile(summary.lengths, 0.9);
  if (phases) {
    summary.thinking_mean = thinking / count;
    summary.answer_mean = answer / count;
  }
  if (authors) {
    summary.utilisation = ratio(large, tokens);
    summary.small_share = ratio(small, tokens);
    summary.handoffs = handoffs / count;
  }
  if (parts) summary.time = time;
}

bool is_complete(const std::vector<Graded>& samples, std::uint32_t wanted) { return samples.size() == wanted; }

void compare(const Gathered& policy, const Gathered& baseline, const Summary& whole, bool graded,
             PolicySummary& summary) {
  std::vector<QuestionResult> ours;
  std::vector<QuestionResult> theirs;
  for (std::size_t i = 0; i < policy.by_problem.size(); ++i) {
    if (!is_complete(policy.by_problem[i], whole.samples) || !is_complete(baseline.by_problem[i], whole.samples))
      continue;
    ours.push_back(result_of(policy.by_problem[i]));
    theirs.push_back(result_of(baseline.by_problem[i]));
  }
  summary.compared = ours.size();
  if (ours.empty() || summary.name == whole.baseline) return;
  summary.speed_up = speed_up(ours, theirs);
  if (!graded) return;
  summary.difference = accuracy_difference(ours, theirs);
  summary.verdict = non_inferiority(*summary.difference, ours.size(), whole.margin);
  summary.mcnemar = mcnemar(ours, theirs);
}

// Which policies are reported, with their URL.
Result<std::vector<PolicySummary>> choose_policies(const Store& store, const SummaryOptions& options) {
  const auto known = store.policies();
  if (!known) return tl::unexpected(known.error());
  std::vector<PolicySummary> chosen;
  std::string names;
  for (const auto& one : *known) {
    names += (names.empty() ? "" : ", ") + one.name;
    if (!options.policies.empty() &&
        std::find(options.policies.begin(), options.policies.end(), one.name) == options.policies.end())
      continue;
    PolicySummary summary{.name = one.name};
    if (one.settings.contains("endpoint")) summary.endpoint = one.settings["endpoint"].get<std::string>();
    chosen.push_back(std::move(summary));
  }
  for (const auto& wanted : options.policies) {
    if (std::none_of(chosen.begin(), chosen.end(), [&](const auto& one) { return one.name == wanted; }))
      return fail(ErrorKind::usage, fmt::format("the evaluation has no policy '{}'", wanted), "it has " + names);
  }
  return chosen;
}

Result<std::string> choose_baseline(const std::vector<PolicySummary>& policies, const std::string& wanted) {
  const auto has = [&](std::string_view name) {
    return std::any_of(policies.begin(), policies.end(), [&](const auto& one) { return one.name == name; });
  };
  if (wanted.empty()) return has("large-only") || policies.empty() ? std::string("large-only") : policies.front().name;
  if (has(wanted)) return wanted;
  return fail(ErrorKind::usage, fmt::format("the baseline '{}' is none of the policies", wanted),
              "name one of them with --baseline");
}

// Reads all outputs once and grades their answers.
Result<std::map<std::string, Gathered>> gather(const Store& store, const std::vector<StoredProblem>& problems,
                                               const Summary& summary) {
  std::map<std::string, Gathered> gathered;
  for (const auto& policy : summary.policies) gathered[policy.name].by_problem.resize(problems.size());
  std::map<std::string, std::size_t> position;
  for (std::size_t i = 0; i < problems.size(); ++i) position[problems[i].problem.id] = i;
  const auto read = store.for_each([&](const StoredOutput& stored) {
    const auto policy = gathered.find(stored.key.policy);
    const auto at = position.find(stored.key.problem);
    if (policy == gathered.end() || at == position.end() || stored.key.sample >= summary.samples) return;
    if (stored.error) {
      ++policy->second.errors;
      if (!policy->second.first_error) policy->second.first_error = stored.error;
      return;
    }
    const Problem& problem = problems[at->second].problem;
    const auto& output = stored.output;
    const auto grade_of =
        grade(output.answer, output.finished(), problem.expected, problem.kind, problem.options.size());
    policy->second.by_problem[at->second].push_back({.sample = stored.key.sample,
                                                     .verdict = grade_of.verdict,
                                                     .tokens = output.tokens,
                                                     .time = output.time,
                                                     .truncated = output.finish == FinishReason::length});
  });
  if (!read) return tl::unexpected(read.error());
  for (auto& [name, one] : gathered) {
    for (auto& samples : one.by_problem)
      std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.sample < b.sample; });
  }
  return gathered;
}

// Questions on which some policy and the baseline differ, with the texts of their first differing sample.
Status find_disagreements(const Store& store, const std::vector<StoredProblem>& problems,
                          const std::map<std::string, Gathered>& gathered, std::size_t most, Summary& summary) {
  const auto baseline = gathered.find(summary.baseline);
  if (baseline == gathered.end()) return std::monostate{};
  for (std::size_t i = 0; i < problems.size() && summary.disagreements.size() < most; ++i) {
    const auto& base = baseline->second.by_problem[i];
    std::optional<std::uint32_t> sample;
    for (const auto& policy : summary.policies) {
      for (const auto& one : gathered.at(policy.name).by_problem[i]) {
        const auto same = std::find_if(base.begin(), base.end(), [&](const auto& b) { return b.sample == one.sample; });
        if (same != base.end() && is_right(same->verdict) != is_right(one.verdict) && (!sample || one.sample < *sample))
          sample = one.sample;
      }
    }
    if (!sample) continue;
    const auto& problem = problems[i].problem;
    Disagreement found{.problem = problems[i]};
    for (const auto& policy : summary.policies) {
      auto stored = store.find({policy.name, problem.id, *sample});
      if (!stored) return tl::unexpected(stored.error());
      if (!*stored || (*stored)->error) continue;
      const auto& output = (*stored)->output;
      auto graded = grade(output.answer, output.finished(), problem.expected, problem.kind, problem.options.size());
      found.sides.push_back({policy.name, std::move(graded.answer), graded.verdict, std::move(**stored)});
    }
    summary.disagreements.push_back(std::move(found));
  }
  return std::monostate{};
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void add_notes(Summary& summary) {
  for (const auto& policy : summary.policies) {
    if (policy.missing + policy.errors == 0) continue;
    std::string sentence = fmt::format("{}: {} of {} outputs are there", policy.name, policy.outputs,
                                       policy.outputs + policy.errors + policy.missing);
    if (policy.errors > 0) {
      sentence +=
          fmt::format(", {} failed and {} not scored (for example: {})", counted(policy.errors, "output", "outputs"),
                      policy.errors == 1 ? "is" : "are", policy.first_error.value_or(""));
    }
    if (policy.name != summary.baseline && !summary.baseline.empty())
      sentence += fmt::format("; the comparison is over {} that both have complete",
                              counted(policy.compared, "question", "questions"));
    summary.notes.push_back(sentence + ".");
  }
  for (const auto& policy : summary.policies) {
    if (policy.endpoint) {
      summary.notes.push_back(fmt::format(
          "{} is an endpoint: its time is measured by the client, network and queue included.", policy.name));
    }
  }
  std::set<std::string> machines;
  for (const auto& run : summary.runs) machines.insert(to_line(run.machine));
  if (machines.size() > 1)
    summary.notes.emplace_back(
        "The outputs were written on different machines or with different threads, so times mix.");
  if (summary.kind == AnswerKind::none)
    summary.notes.emplace_back(
        "The dataset has no answers that can be graded: outputs are kept, accuracy is not known.");
}

}  // namespace

std::uint64_t Summary::absent() const {
  std::uint64_t count = 0;
  for (const auto& policy : policies) count += policy.missing + policy.errors;
  return count;
}

Result<Summary> summarise(const Store& store, const SummaryOptions& options) {
  Summary summary;
  summary.margin = options.margin;
  summary.samples = options.samples;
  auto dataset = store.settings("dataset");
  auto settings = store.settings("generation");
  auto pair = store.settings("pair");
  auto runs = store.runs();
  auto problems = store.problems();
  auto policies = choose_policies(store, options);
  for (const Error* error : {dataset ? nullptr : &dataset.error(), settings ? nullptr : &settings.error(),
                             pair ? nullptr : &pair.error(), runs ? nullptr : &runs.error(),
                             problems ? nullptr : &problems.error(), policies ? nullptr : &policies.error()}) {
    if (error != nullptr) return tl::unexpected(*error);
  }
  if (!options.problems.empty())
    std::erase_if(*problems, [&](const auto& one) { return !options.problems.contains(one.problem.id); });
  summary.dataset = std::move(*dataset);
  if (auto file = store.settings("file"); file && summary.dataset.is_object())
    summary.dataset["file"] = std::move(*file);
  summary.settings = std::move(*settings);
  summary.pair = std::move(*pair);
  summary.runs = std::move(*runs);
  summary.policies = std::move(*policies);
  summary.problems = problems->size();
  if (!problems->empty()) summary.kind = problems->front().problem.kind;
  auto baseline = choose_baseline(summary.policies, options.baseline);
  if (!baseline) return tl::unexpected(baseline.error());
  summary.baseline = std::move(*baseline);

  const auto gathered = gather(store, *problems, summary);
  if (!gathered) return tl::unexpected(gathered.error());
  const bool graded = summary.kind != AnswerKind::none;
  for (auto& policy : summary.policies) {
    const auto& own = gathered->at(policy.name);
    policy.errors = own.errors;
    policy.first_error = own.first_error;
    add_up(own, policy);
    policy.missing = summary.problems * summary.samples - policy.outputs - policy.errors;
    std::vector<QuestionResult> complete;
    for (const auto& samples : own.by_problem) {
      if (is_complete(samples, summary.samples)) complete.push_back(result_of(samples));
    }
    policy.complete = complete.size();
    if (graded && !complete.empty()) policy.accuracy = accuracy(complete);
    if (const auto base = gathered->find(summary.baseline); base != gathered->end())
      compare(own, base->second, summary, graded, policy);
  }
  if (auto ok = find_disagreements(store, *problems, *gathered, options.disagreements, summary); !ok)
    return tl::unexpected(ok.error());
  add_notes(summary);
  return summary;
}

}  // namespace relaygen::eval
