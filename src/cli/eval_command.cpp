// relaygen eval: policies against each other on problems with known answers.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include "cli/bundled.h"
#include "cli/commands.h"
#include "cli/eval_flags.h"
#include "cli/eval_setup.h"
#include "cli/eval_table.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/long_progress.h"
#include "cli/machine_costs.h"
#include "cli/output.h"
#include "cli/provenance.h"
#include "eval/matching.h"
#include "eval/pair_writer.h"
#include "eval/summary.h"

namespace relaygen::cli {
namespace {

constexpr std::size_t kMatchingProblems = 20;
constexpr const char* kBundledLarge = "relaygen-demo-large";

// ---------------------------------------------------------------- showing

// The margin that the evaluation was begun with.
Result<std::optional<double>> recorded_margin(const eval::Store& store) {
  const auto recorded = store.settings("margin");
  if (!recorded) return tl::unexpected(recorded.error());
  return recorded->is_number() ? std::optional(recorded->get<double>()) : std::nullopt;
}

// Shows what is stored; the exit code tells whether it is everything.
Result<int> finish(const eval::Store& store, eval::SummaryOptions options, const EvalFlags& flags,
                   const std::string& command) {
  const auto margin = recorded_margin(store);
  if (!margin) return tl::unexpected(margin.error());
  options.margin = flags.margin.value_or(margin->value_or(kUsualMargin));
  auto summary = eval::summarise(store, options);
  if (!summary) return tl::unexpected(summary.error());
  if (*margin && **margin != options.margin) {
    summary->notes.push_back(
        fmt::format("The evaluation was begun with a margin of {:g}, and this table has one of {:g}: a margin that is "
                    "chosen after looking proves little.",
                    **margin, options.margin));
  }
  const auto overlap = store.settings("calibrated_on");
  if (!overlap) return tl::unexpected(overlap.error());
  if (overlap->is_number() && *overlap > 0) {
    summary->notes.push_back(fmt::format(
        "{} of these problems are among those that the profile was calibrated on: what it does on them says "
        "little about others.",
        overlap->get<std::uint64_t>()));
  }
  if (summary->pair.is_object() && summary->pair.value("large", "") == kBundledLarge) {
    summary->notes.emplace_back(kNoSpeedOfBundledPair);
  }
  const auto json = eval::summary_to_json(*summary, {.program = program(), .command = command});
  if (auto ok = show_result(json, eval_table(*summary), flags.output); !ok) return tl::unexpected(ok.error());
  return summary->absent() == 0 ? 0 : kExitIncomplete;
}

// ---------------------------------------------------------------- writing

// How many of the problems the profile was calibrated on.
std::size_t calibrated_on(const ChosenProblems& problems, const Profile& profile) {
  if (!profile.calibration) return 0;
  const auto& hashes = profile.calibration->problem_hashes;
  const std::set<std::string_view> known(hashes.begin(), hashes.end());
  return static_cast<std::size_t>(std::ranges::count_if(problems.chosen, [&](const eval::StoredProblem& one) {
    return known.contains(question_hash(one.problem.question));
  }));
}

Result<std::optional<eval::StoredPolicy>> recorded_policy(const eval::Store& store, std::string_view name) {
  auto known = store.policies();
  if (!known) return tl::unexpected(known.error());
  const auto found = std::ranges::find(*known, name, &eval::StoredPolicy::name);
  return found == known->end() ? std::optional<eval::StoredPolicy>() : std::optional(std::move(*found));
}

constexpr std::uint32_t kNotYetKnown = 0;  // recorded for a length that follows from the machine

// What an earlier run found on its machine goes on to count: the texts depend on it.
Status take_length(const eval::Store& store, PolicyRow& row) {
  const auto recorded = recorded_policy(store, row.name);
  if (!recorded) return tl::unexpected(recorded.error());
  std::uint32_t& length = row.prepared.policy.max_small_tokens;
  if (!*recorded) {
    length = kNotYetKnown;
  } else if (const OrderedJson& settings = (*recorded)->settings;
             settings.contains("max_small_tokens") && settings["max_small_tokens"].is_number_unsigned()) {
    length = settings["max_small_tokens"].get<std::uint32_t>();
  }
  return std::monostate{};
}

// Records or compares everything that defines the outputs, before models are loaded.
Status settle(eval::Store& store, const EvalFlags& flags, const ChosenProblems& problems, Rows& rows,
              std::uint64_t seed) {
  if (auto ok = store.begin_anew_if_empty(); !ok) return ok;
  if (auto ok = store.settle("dataset", dataset_settings(problems)); !ok) return ok;
  const auto file = std::filesystem::path(problems.dataset.file).filename().string();
  if (auto ok = store.record("file", file); !ok) return ok;
  const auto margin = recorded_margin(store);
  if (!margin) return tl::unexpected(margin.error());
  if (!*margin) {
    if (auto ok = store.record("margin", flags.margin.value_or(kUsualMargin)); !ok) return ok;
  }
  if (auto ok = store.settle("generation", generation_settings(flags, problems, seed)); !ok) return ok;
  if (!rows.policies.empty()) {
    auto pair = pair_settings(flags, rows.profile);
    if (!pair) return tl::unexpected(pair.error());
    if (auto ok = store.settle("pair", *pair); !ok) return ok;
  }
  if (auto ok = store.record("calibrated_on", calibrated_on(problems, rows.profile)); !ok) return ok;
  for (auto& row : rows.policies) {
    if (row.name == "random" && flags.random_rate == "match") continue;  // once the rate is known
    if (is_left_to_costs(row.prepared.policy, flags.generation)) {
      if (auto ok = take_length(store, row); !ok) return ok;
    }
    if (auto ok = store.settle_policy(policy_settings(row, flags)); !ok) return ok;
  }
  for (const auto& row : rows.endpoints) {
    if (auto ok = store.settle_policy(endpoint_settings(row)); !ok) return ok;
  }
  return store.add_problems(problems.chosen, problems.positions);
}

Result<std::uint64_t> choose_seed(const eval::Store& store, const EvalFlags& flags) {
  if (flags.generation.seed >= 0) return static_cast<std::uint64_t>(flags.generation.seed);
  const auto recorded = store.settings("generation");
  if (!recorded) return tl::unexpected(recorded.error());
  return recorded->is_object() ? recorded->value("seed", std::uint64_t{0}) : std::uint64_t{0};
}

// The rate of the random row: the one that was found before, or a search for it.
Status match_rate(eval::Store& store, Pair* pair, Rows& rows, const ChosenProblems& problems, std::uint64_t seed,
                  const EvalFlags& flags) {
  const auto row = std::find_if(rows.policies.begin(), rows.policies.end(),
                                [](const PolicyRow& one) { return one.name == "random"; });
  if (row == rows.policies.end() || flags.random_rate != "match") return std::monostate{};
  const auto recorded = recorded_policy(store, row->name);
  if (!recorded) return tl::unexpected(recorded.error());
  if (*recorded && (*recorded)->settings.value("matched", false)) {
    row->prepared.policy.random_rate = (*recorded)->settings.value("random_rate", 0.0);
    return std::monostate{};
  }
  GenerationFlags generation = flags.generation;
  generation.policy = "relay";
  auto relay = prepare_policy(policy_choice(generation), rows.profile);
  if (!relay) return tl::unexpected(relay.error());
  const auto relay_writer = make_writer(*pair, {"relay", std::move(*relay)}, flags, nullptr);
  const auto make_random = [&](double rate) {
    PolicyRow tried = *row;
    tried.prepared.policy.random_rate = rate;
    return make_writer(*pair, tried, flags, nullptr);
  };
  ProgressBar bar;
  const std::span<const eval::StoredProblem> some(problems.chosen.data(),
                                                  std::min(kMatchingProblems, problems.chosen.size()));
  const auto matched = eval::match_random_rate(*relay_writer, make_random, some, seed, interrupted(), [&](double part) {
    if (!flags.quiet) bar.show("looking for the random rate", static_cast<float>(part));
  });
  if (!matched) return tl::unexpected(matched.error());
  bar.clear();
  if (!flags.quiet) {
    note("The rate of random is {:g}: the small model writes {:.1f}% ({:.1f}% under relay) on {} problems.\n",
         matched->rate, 100 * matched->share, 100 * matched->wanted_share, some.size());
  }
  row->prepared.policy.random_rate = matched->rate;
  return store.settle_policy(policy_settings(*row, flags));
}

Result<std::vector<eval::Competitor>> make_competitors(Pair* pair, const Rows& rows, const EvalFlags& flags,
                                                       const CostModel* costs) {
  std::vector<eval::Competitor> competitors;
  for (const auto& row : rows.policies) competitors.push_back({row.name, make_writer(*pair, row, flags, costs)});
  for (const auto& row : rows.endpoints) {
    auto writer = make_writer(row, flags);
    if (!writer) return tl::unexpected(writer.error());
    competitors.push_back({row.name, std::move(*writer)});
  }
  return competitors;
}

Result<bool> anything_missing(const eval::Store& store, const Rows& rows, const ChosenProblems& problems,
                              const EvalFlags& flags) {
  const auto done = store.done();
  if (!done) return tl::unexpected(done.error());
  const auto wanted = eval::schedule(rows.names(), problems.chosen, flags.samples);
  return std::any_of(wanted.begin(), wanted.end(), [&](const auto& key) { return !done->contains(key); });
}

// Writes what is missing. Returns false if it was interrupted.
Result<bool> write_outputs(eval::Store& store, const EvalFlags& flags, const ChosenProblems& problems, Rows& rows,
                           std::uint64_t seed, const std::string& command) {
  const auto missing = anything_missing(store, rows, problems, flags);
  if (!missing || !*missing) return missing ? Result<bool>(true) : missing;
  std::unique_ptr<Pair> pair;
  std::optional<InterruptiblePair> interruptible;
  if (!rows.policies.empty()) {
    auto loaded = load_pair(flags.models);
    if (!loaded) return tl::unexpected(loaded.error());
    pair = std::move(*loaded);
    interruptible.emplace(*pair);
    for (const auto& row : rows.policies) {
      if (auto ok = check_engine(row.prepared.policy, *pair); !ok) return tl::unexpected(ok.error());
    }
    const bool on_cues = std::any_of(rows.policies.begin(), rows.policies.end(), [](const PolicyRow& row) {
      return row.prepared.policy.handoffs == HandoffRule::cues;
    });
    warn_of_doubts(pair->info(), on_cues ? &rows.profile : nullptr);
    warm_up(*pair);
  }
  if (auto ok = match_rate(store, pair.get(), rows, problems, seed, flags); !ok) return tl::unexpected(ok.error());
  std::optional<CostModel> costs;
  if (std::ranges::any_of(rows.policies, [](const auto& row) { return wants_costs(row.prepared.policy); })) {
    auto measured = machine_costs(*pair, flags.models);
    if (!measured) return tl::unexpected(measured.error());
    costs = std::move(*measured);
    for (PolicyRow& row : rows.policies) {
      if (row.prepared.policy.max_small_tokens != kNotYetKnown) continue;
      fit_to_costs(row.prepared.policy, flags.generation, *costs);
      if (auto ok = store.replace_policy(policy_settings(row, flags)); !ok) return tl::unexpected(ok.error());
    }
  }
  auto competitors = make_competitors(pair.get(), rows, flags, costs ? &*costs : nullptr);
  if (!competitors) return tl::unexpected(competitors.error());
  const auto machine = describe_machine(pair ? pair->info().threads : 0);
  if (auto ok = store.add_run({eval::utc_now(), program(), command, machine}); !ok) return tl::unexpected(ok.error());
  LongProgress progress(flags.quiet);
  const eval::RunnerOptions options{
      .seed = seed,
      .samples = flags.samples,
      .progress = [&](const eval::Progress& one) { progress.show("outputs", one.done, one.all, one.seconds_left); },
      .say = [&](const std::string& sentence) { progress.say(sentence); },
      .cancel = &interrupted()};
  return eval::write_missing(store, problems.chosen, *competitors, options);
}

std::set<std::string> ids_of(const ChosenProblems& problems) {
  std::set<std::string> ids;
  for (const auto& one : problems.chosen) ids.insert(one.problem.id);
  return ids;
}

Result<int> evaluate(const EvalFlags& flags, const std::string& command) {
  const auto problems = choose_problems(flags);
  if (!problems) return tl::unexpected(problems.error());
  auto rows = choose_rows(flags);
  if (!rows) return tl::unexpected(rows.error());
  auto store = flags.db.empty() ? eval::Store::in_memory() : eval::Store::open(flags.db);
  if (!store) return tl::unexpected(store.error());
  const auto seed = choose_seed(*store, flags);
  if (!seed) return tl::unexpected(seed.error());
  if (auto ok = settle(*store, flags, *problems, *rows, *seed); !ok) return tl::unexpected(ok.error());
  if (!flags.quiet && problems->dataset.name != "demo")
    note("{}: {} rows, {}.\n", problems->dataset.file, problems->dataset.problems.size(), problems->dataset.taken);
  if (!flags.quiet && flags.samples > 1 && flags.generation.sampling.temperature == 0)
    print_warning("at temperature 0 all samples of a problem are the same text");

  if (const auto overlap = calibrated_on(*problems, rows->profile); overlap > 0) {
    print_warning(fmt::format("{} of the {} problems are among those that the profile was calibrated on", overlap,
                              problems->chosen.size()));
  }

  const auto complete = write_outputs(*store, flags, *problems, *rows, *seed, command);
  const bool stopped = (complete && !*complete) || (!complete && complete.error().kind == ErrorKind::cancelled);
  if (!complete && !stopped) return tl::unexpected(complete.error());
  const eval::SummaryOptions options{.baseline = full_policy_name(flags.baseline),
                                     .samples = flags.samples,
                                     .policies = rows->names(),
                                     .problems = ids_of(*problems)};
  const auto known = store->policies();
  if (stopped && known && known->empty()) return kExitInterrupted;
  auto code = finish(*store, options, flags, command);
  if (!code || !stopped) return code;
  note("Interrupted. {}\n", flags.db.empty() ? "Nothing is kept: give --db FILE to be able to go on."
                                             : "The same command goes on: " + command);
  return kExitInterrupted;
}

Result<int> report_only(const EvalFlags& flags, const std::string& command) {
  const auto store = eval::Store::open_to_read(flags.db);
  if (!store) return tl::unexpected(store.error());
  eval::SummaryOptions options{.baseline = full_policy_name(flags.baseline)};
  for (const auto& name : split_list(flags.policies)) options.policies.push_back(full_policy_name(name));
  const auto problems = store->problems();
  if (!problems) return tl::unexpected(problems.error());
  const auto ids = split_list(flags.problems);
  for (const std::string& id : ids) {
    if (std::none_of(problems->begin(), problems->end(), [&](const auto& one) { return one.problem.id == id; }))
      return fail(ErrorKind::usage, fmt::format("{} holds no problem '{}'", flags.db, id), "give ids that it holds");
  }
  options.problems.insert(ids.begin(), ids.end());
  const auto most = flags.first > 0 ? static_cast<std::size_t>(flags.first) : problems->size();
  if (ids.empty()) {
    for (std::size_t i = 0; i < std::min(most, problems->size()); ++i)
      options.problems.insert((*problems)[i].problem.id);
  }
  options.samples = flags.samples;
  if (!flags.samples_given) {
    auto samples = store->samples();
    if (!samples) return tl::unexpected(samples.error());
    options.samples = std::max(1U, *samples);
  }
  const auto runs = store->runs();
  if (!runs) return tl::unexpected(runs.error());
  return finish(*store, options, flags, runs->empty() ? command : runs->back().command);
}

Result<int> run(const EvalFlags& flags, const std::string& command) {
  if (auto ok = check_eval_flags(flags); !ok) return tl::unexpected(ok.error());
  handle_interrupts();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  return flags.only_report ? report_only(flags, command) : evaluate(flags, command);
}

}  // namespace

void add_eval_command(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  auto flags = std::make_shared<EvalFlags>();
  CLI::App* command = app.add_subcommand("eval", "compare policies on problems with known answers");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_eval_flags(*command, *flags);
  command->callback([flags, command, line = command_line(arguments), &code] {
    flags->samples_given = command->get_option("--samples")->count() > 0;
    auto result = run(*flags, line);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
