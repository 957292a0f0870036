// relaygen calibrate: finds, proves and explains the cues of a pair.
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>

#include "bench/batch_costs.h"
#include "calibrate/calibration_json.h"
#include "calibrate/foreign_texts.h"
#include "calibrate/stages.h"
#include "cli/bundled.h"
#include "cli/calibrate_flags.h"
#include "cli/calibrate_table.h"
#include "cli/commands.h"
#include "cli/eval_setup.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/long_progress.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "eval/prompt_template.h"
#include "eval/store.h"
#include "io/files.h"
#include "io/hashing.h"
#include "io/line_writer.h"

namespace relaygen::cli {
namespace {

namespace cal = relaygen::calibrate;

// ---------------------------------------------------------------- input

struct Input {
  std::vector<eval::Problem> problems;
  std::vector<cal::ForeignText> texts;  // of these problems
  eval::PromptTemplate prompt;
};

Status read_texts(const CalibrateFlags& flags, Input& input) {
  if (flags.traces.empty()) return std::monostate{};
  const auto content = read_file(flags.traces);
  if (!content) return tl::unexpected(content.error());
  auto foreign = cal::parse_foreign_texts(*content, flags.traces);
  if (!foreign) return tl::unexpected(foreign.error());
  for (const auto& note : foreign->notes) print_warning(fmt::format("{}: {}", flags.traces, note));
  const bool any_problem = flags.problems.empty();  // else --problems says which ones count
  const auto wanted = flags.first > 0 ? static_cast<std::size_t>(flags.first) : std::numeric_limits<std::size_t>::max();
  std::set<std::string> known;
  for (const auto& problem : input.problems) known.insert(problem.id);
  std::size_t others = 0;
  for (auto& text : foreign->texts) {
    if (any_problem && input.problems.size() < wanted && known.insert(text.key.problem).second) {
      const auto kind = text.expected.empty() ? eval::AnswerKind::none : eval::AnswerKind::math;
      input.problems.push_back(
          {.id = text.key.problem, .question = text.question, .expected = text.expected, .kind = kind});
    }
    if (known.contains(text.key.problem)) {
      input.texts.push_back(std::move(text));
    } else {
      ++others;
    }
  }
  if (input.texts.empty()) {
    return fail(ErrorKind::bad_input, fmt::format("{} and {} have no problem in common", flags.traces, flags.problems),
                "give the traces ids that the problems have");
  }
  if (others > 0 && !any_problem)
    print_warning(
        fmt::format("{} texts of {} belong to none of these problems and are left out", others, flags.traces));
  return std::monostate{};
}

Result<Input> read_input(const CalibrateFlags& flags) {
  const eval::Preset* preset = flags.models.bundled() ? eval::find_preset("demo") : nullptr;
  std::string file = flags.problems;
  if (file.empty() && flags.traces.empty()) {
    auto folder = bundled_folder();
    if (!folder) return tl::unexpected(folder.error());
    file = *folder / "models/demo/problems.calibration.jsonl";
  }
  std::vector<eval::Problem> problems;
  auto kind = eval::AnswerKind::none;
  if (!file.empty()) {
    auto dataset = eval::read_dataset(file, preset, flags.columns);
    if (!dataset) return tl::unexpected(dataset.error());
    kind = dataset->kind;
    problems = std::move(dataset->problems);
    if (flags.first > 0 && problems.size() > static_cast<std::size_t>(flags.first))
      problems.resize(static_cast<std::size_t>(flags.first));
  }
  auto prompt = read_template(flags.template_file, preset, kind);
  if (!prompt) return tl::unexpected(prompt.error());
  Input input{.problems = std::move(problems), .texts = {}, .prompt = std::move(*prompt)};
  if (auto ok = read_texts(flags, input); !ok) return tl::unexpected(ok.error());
  return input;
}

// ---------------------------------------------------------------- the pair

// Without a large model the small one takes both places, and is asked in one of them.
ModelFlags pair_to_load(const CalibrateFlags& flags) {
  ModelFlags wanted = flags.models;
  if (flags.small_only()) wanted.large = wanted.small;
  return wanted;
}

// Reading traces wants logits of many rows at once.
Result<std::unique_ptr<Pair>> load_for_reading(const CalibrateFlags& flags) {
  const ModelFlags wanted = pair_to_load(flags);
  auto options = pair_options(wanted);
  if (!options) return tl::unexpected(options.error());
  options->output_rows = options->micro_batch;
  auto pair = load_pair(*options, wanted.verbose);
  if (pair) warn_of_doubts((*pair)->info(), nullptr);
  return pair;
}

// What is measured belongs to these very weights: another quantisation of the model is another one.
Result<OrderedJson> model_to_json(const PairInfo::One& one, const std::string& file) {
  const auto fingerprint = file_fingerprint(file);
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  return OrderedJson{{"name", one.name}, {"vocabulary", one.vocabulary_hash}, {"file", *fingerprint}};
}

OrderedJson sampling_to_json(const CalibrateFlags& flags, const Input& input, std::uint64_t seed) {
  const SamplingOptions& sampling = flags.generation.sampling;
  const auto plain = [](float value) { return std::round(static_cast<double>(value) * 1e6) / 1e6; };
  return {{"temperature", plain(sampling.temperature)},
          {"top_k", sampling.top_k},
          {"top_p", plain(sampling.top_p)},
          {"min_p", plain(sampling.min_p)},
          {"repeat_penalty", plain(sampling.repeat_penalty)},
          {"presence_penalty", plain(sampling.presence_penalty)},
          {"frequency_penalty", plain(sampling.frequency_penalty)},
          {"seed", seed},
          {"budget", flags.generation.budgets.total},
          {"thinking_budget", flags.generation.budgets.thinking},
          {"answer_budget", flags.generation.budgets.answer},
          {"penalty_last_n", sampling.penalty_last_n},
          {"system_prompt", flags.generation.system},
          {"template", input.prompt.text()},
          {"imported", !input.texts.empty()}};
}

// ---------------------------------------------------------------- stages

class Calibration {
 public:
  Calibration(const CalibrateFlags& flags, cal::Store store, cal::AnalysisOptions options)
      : flags_(flags), store_(std::move(store)), options_(std::move(options)), progress_(flags.quiet) {}

  Status run_stages() {
    auto input = read_input(flags_);
    if (!input) return tl::unexpected(input.error());
    input_.emplace(std::move(*input));
    // What would be the end of it is said before anything is written.
    const auto splits = cal::split_problems(input_->problems, options_.seed);
    const auto choosing = std::ranges::count(splits, cal::Split::selection);
    if (choosing < static_cast<std::ptrdiff_t>(options_.min_problems)) {
      return fail(ErrorKind::bad_input,
                  fmt::format("There are {} problems, {} of which choose, and a cue has to occur in at least {}",
                              input_->problems.size(), choosing, options_.min_problems),
                  "give more problems, or a smaller --min-problems");
    }
    auto pair = load_for_reading(flags_);
    if (!pair) return tl::unexpected(pair.error());
    pair_ = std::move(*pair);
    interruptible_.emplace(*pair_);
    context_ = {
        .engine = pair_.get(),
        .cancel = &interrupted(),
        .progress =
            [this](const cal::StageProgress& one) { progress_.show(one.stage, one.done, one.all, one.seconds_left); },
        .say = [this](const std::string& sentence) { progress_.say(sentence); }};
    if (auto ok = settle(); !ok) return ok;
    if (auto ok = get_traces(); !ok) return ok;
    if (auto ok = check_earlier_stages(); !ok) return ok;
    if (flags_.runs("margins")) {
      if (auto ok = cal::judge_traces(store_, flags_.small_only(), context_); !ok) return ok;
    }
    if (!flags_.small_only() && flags_.proofs > 0 && flags_.runs("proof")) {
      if (auto ok = prove(); !ok) return ok;
    }
    if (!flags_.small_only() && flags_.runs("answers")) {
      if (auto ok = cal::write_answers(store_, 1, proof_options(), context_); !ok) return ok;
    }
    progress_.clear();
    return std::monostate{};
  }

  /// For the stage that needs no models.
  Status recall_tags() {
    const auto tags = store_.settings("tags");
    if (!tags) return tl::unexpected(tags.error());
    if (!tags->is_object()) {
      return fail(ErrorKind::bad_input, fmt::format("{} holds no traces yet", flags_.database()),
                  "run the other stages first");
    }
    try {
      options_.tags = {tags->at("begin").get<std::string>(), tags->at("ends").get<std::vector<std::string>>()};
    } catch (const OrderedJson::exception&) {
      return fail(ErrorKind::bad_input,
                  fmt::format("{} is damaged: its thinking tags are not whole", flags_.database()),
                  "restore a copy, or name another file with --db");
    }
    return std::monostate{};
  }

  [[nodiscard]] const cal::Store& store() const { return store_; }
  [[nodiscard]] const cal::AnalysisOptions& options() const { return options_; }
  [[nodiscard]] std::int32_t threads() const { return pair_ ? pair_->info().threads : 0; }

 private:
  [[nodiscard]] Result<Request> request_of(const eval::Problem& problem) const {
    std::vector<ChatMessage> messages;
    if (!flags_.generation.system.empty()) messages.push_back({"system", flags_.generation.system});
    messages.push_back({"user", input_->prompt.render(problem)});
    return make_request(*pair_, PreparedPolicy{}, flags_.generation, messages);
  }

  [[nodiscard]] cal::ProofOptions proof_options() const {
    return {.sampling = flags_.generation.sampling,
            .budgets = flags_.generation.budgets,
            .tags = options_.tags,
            .max_small_tokens = options_.max_small_tokens,
            .rules = options_.rules};
  }

  [[nodiscard]] Result<OrderedJson> describe_pair() const {
    const auto options = pair_options(pair_to_load(flags_));
    if (!options) return tl::unexpected(options.error());
    const auto& info = pair_->info();
    const auto small = model_to_json(info.small, options->small.path);
    if (!small) return tl::unexpected(small.error());
    if (flags_.small_only()) return OrderedJson{{"large", nullptr}, {"small", *small}};
    const auto large = model_to_json(info.large, options->large.path);
    if (!large) return tl::unexpected(large.error());
    return OrderedJson{{"large", *large}, {"small", *small}};
  }

  Status settle() {
    const auto probe = request_of(input_->problems.front());
    if (!probe) return tl::unexpected(probe.error());
    options_.tags = probe->tags;
    const auto pair = describe_pair();
    if (!pair) return tl::unexpected(pair.error());
    if (auto ok = store_.settle("pair", *pair); !ok) return ok;
    if (auto ok = store_.settle("tags", {{"begin", options_.tags.begin}, {"ends", options_.tags.ends}}); !ok) return ok;
    if (auto ok = store_.settle("texts", sampling_to_json(flags_, *input_, options_.seed)); !ok) return ok;
    return store_.add_problems(input_->problems);
  }

  // A stage that runs alone needs what the ones before it left.
  Status check_earlier_stages() {
    if (flags_.stage == "all" || flags_.stage == "traces") return std::monostate{};
    const auto missing = [&](std::string_view what, std::string_view stage) {
      return fail(ErrorKind::bad_input, fmt::format("{} holds no {} yet", flags_.database(), what),
                  fmt::format("run --stage {} first", stage));
    };
    const auto traces = store_.traces();
    if (!traces) return tl::unexpected(traces.error());
    if (traces->empty()) return missing("traces", "traces");
    if (flags_.stage != "proof") return std::monostate{};
    const auto judged = store_.judged(Model::large);
    if (!judged) return tl::unexpected(judged.error());
    return judged->empty() ? missing("margins of the large model", "margins") : Status(std::monostate{});
  }

  Status get_traces() {
    if (!input_->texts.empty()) return flags_.runs("traces") ? import_traces() : Status(std::monostate{});
    if (flags_.small_only() || !flags_.runs("traces")) return std::monostate{};
    if (auto ok = tell_time(); !ok) return ok;
    for (std::uint32_t sample = 0; sample < flags_.samples; ++sample) {
      const auto request = [this](const eval::Problem& problem) { return request_of(problem); };
      if (auto ok = cal::write_traces(store_, input_->problems, sample, options_.seed, request, context_); !ok)
        return ok;
      if (sample + 1 == flags_.samples || !flags_.runs("margins")) continue;
      if (auto ok = cal::judge_traces(store_, false, context_); !ok) return ok;
      // Of what an interrupted run wrote of later rounds nothing counts here.
      cal::AnalysisOptions so_far = options_;
      so_far.rounds = sample + 1;
      so_far.proof_places = 0;
      const auto analysis = cal::analyse(store_, so_far);
      if (analysis && cal::is_settled(*analysis)) {
        if (!flags_.quiet) {
          progress_.clear();
          note("The intervals suffice after {} {} of each problem.\n", sample + 1, sample == 0 ? "trace" : "traces");
        }
        break;
      }
    }
    return std::monostate{};
  }

  Status import_traces() {
    for (const auto& text : input_->texts) {
      auto messages = text.messages;
      if (!flags_.generation.system.empty()) messages.insert(messages.begin(), {"system", flags_.generation.system});
      if (text.messages.size() == 1 && !flags_.problems.empty()) {
        const auto problem = std::ranges::find(input_->problems, text.key.problem, &eval::Problem::id);
        messages.back().content = input_->prompt.render(*problem);
      }
      const auto prompt = pair_->render(messages, true);
      if (!prompt) return tl::unexpected(prompt.error());
      auto trace = cal::trace_of(text, pair_->vocabulary(), *prompt,
                                 output_seed(options_.seed, text.key.problem, text.key.sample));
      if (!trace) return tl::unexpected(trace.error());
      const auto window = static_cast<std::size_t>(pair_->info().window);
      if (prompt->tokens.size() + 1 > window || trace->tokens.empty()) {
        progress_.say(
            fmt::format("{} is left out: {}", text.where,
                        trace->tokens.empty() ? "it holds no tokens" : "its question does not fit the window"));
        continue;
      }
      if (const auto room = window - prompt->tokens.size(); trace->tokens.size() > room) {
        progress_.say(fmt::format("{}: of {} tokens only the first {} fit the window of {}; give a larger -c",
                                  text.where, trace->tokens.size(), room, window));
        cal::cut(*trace, room);
      }
      if (auto ok = put_or_compare(*trace, text); !ok) return ok;
    }
    return std::monostate{};
  }

  // Samples of a problem are told apart by their order alone, so a file that has changed in the middle would be taken
  // for the old one.
  Status put_or_compare(const cal::Trace& trace, const cal::ForeignText& text) {
    const auto before = store_.text_of(trace.key);
    if (!before) return tl::unexpected(before.error());
    if (!*before) return store_.put(trace);
    if (**before == trace.text) return std::monostate{};
    return fail(ErrorKind::usage,
                fmt::format("{} is another text than the one that {} holds as text {} of problem {}", text.where,
                            flags_.database(), trace.key.sample + 1, trace.key.problem),
                "give the file (and -c) as before, new texts behind the old ones, or another file with --db");
  }

  // Nobody knows how long traces will be, but everybody can tell what a thousand tokens take.
  Status tell_time() {
    const auto written = store_.traces();
    if (!written) return tl::unexpected(written.error());
    if (flags_.quiet || !written->empty()) return std::monostate{};
    constexpr std::array<std::int32_t, 1> kOne{1}, kMany{64};
    const auto measure = [&](Model model, std::span<const std::int32_t> rows) -> Result<double> {
      const auto costs = bench::measure_batches(*pair_, model, rows, 64, {.warm_ups = 1, .repeats = 3, .seconds = 2},
                                                steady_clock(), [](std::size_t) {});
      if (!costs) return tl::unexpected(costs.error());
      return costs->front().seconds / rows.front();
    };
    const auto write = measure(Model::large, kOne);
    if (!write) return tl::unexpected(write.error());
    const auto read_large = measure(Model::large, kMany);
    if (!read_large) return tl::unexpected(read_large.error());
    const auto read_small = measure(Model::small, kMany);
    if (!read_small) return tl::unexpected(read_small.error());
    const auto traces = static_cast<double>(input_->problems.size() * flags_.samples);
    const double each = *write + *read_large + *read_small;
    note(
        "At most {:.0f} traces are written and read; for every 1,000 tokens of their mean length that takes about "
        "{}.\n",
        traces, rough_time(1000 * traces * each));
    note("A proof takes up to {} pairs of texts for each candidate.\n", flags_.proofs);
    return std::monostate{};
  }

  // In steps, so that a candidate about which few places decide takes no more of them.
  Status prove() {
    if (auto ok = store_.settle("proof", {{"max_small_tokens", options_.max_small_tokens}, {"rules", flags_.rules}});
        !ok)
      return ok;
    cal::AnalysisOptions so_far = options_;
    so_far.proof_places = 0;  // what the steps before this one looked at
    for (const std::uint32_t parts : {1U, 2U, 4U}) {
      const auto analysis = cal::analyse(store_, so_far);
      if (!analysis) return tl::unexpected(analysis.error());
      const auto places = cal::places_of(store_, *analysis, cal::worth_proving(*analysis));
      if (!places) return tl::unexpected(places.error());
      const std::uint32_t count = (flags_.proofs * parts + 3) / 4;
      const auto chosen = cal::choose_places(*places, count, options_.seed);
      if (auto ok = cal::write_proofs(store_, chosen, proof_options(), context_); !ok) return ok;
      so_far.proof_places = count;
    }
    return std::monostate{};
  }

  const CalibrateFlags& flags_;
  cal::Store store_;
  cal::AnalysisOptions options_;
  LongProgress progress_;
  std::optional<Input> input_;
  std::unique_ptr<Pair> pair_;
  std::optional<InterruptiblePair> interruptible_;
  cal::StageContext context_;
};

// ---------------------------------------------------------------- results

Result<cal::ProfileNames> names_of(const cal::Store& store, const CalibrateFlags& flags) {
  const auto pair = store.settings("pair");
  if (!pair) return tl::unexpected(pair.error());
  const auto model = [&](const char* which) {
    const auto one = pair->is_object() ? pair->value(which, OrderedJson()) : OrderedJson();
    const auto text = [&](const char* key) {
      return one.is_object() && one.contains(key) && one[key].is_string() ? one[key].get<std::string>() : "";
    };
    return ProfileModel{text("name"), text("vocabulary")};
  };
  return cal::ProfileNames{.profile = flags.output.empty() ? "" : std::filesystem::path(flags.output).stem().string(),
                           .large = model("large"),
                           .small = model("small"),
                           .program = program()};
}

Result<int> show(const Calibration& calibration, const CalibrateFlags& flags, const std::string& command) {
  const auto analysis = cal::analyse(calibration.store(), calibration.options());
  if (!analysis) return tl::unexpected(analysis.error());
  const auto findings = cal::find_out(calibration.store(), *analysis);
  if (!findings) return tl::unexpected(findings.error());
  const auto names = names_of(calibration.store(), flags);
  if (!names) return tl::unexpected(names.error());
  const Profile profile = cal::make_profile(*analysis, *findings, *names);
  if (!flags.output.empty()) {
    if (auto ok = write_file(flags.output, write_profile(profile)); !ok) return tl::unexpected(ok.error());
  }
  OrderedJson json{{"kind", "calibrate"},
                   {"title", names->profile.empty() ? "Calibration" : "Calibration of " + names->profile},
                   {"created", eval::utc_now()},
                   {"program", program()},
                   {"command", command},
                   {"machine", describe_machine(calibration.threads())},
                   {"models", {{"large", names->large.name}, {"small", names->small.name}}},
                   {"profile", names->profile},
                   {"notes", analysis->notes}};
  json.update(cal::calibration_to_json(*analysis, *findings));
  if (auto ok = show_result(json, calibration_table(*analysis, *findings, flags.output), flags.shown); !ok)
    return tl::unexpected(ok.error());
  for (const auto& one : analysis->notes) print_warning(one.substr(0, one.size() - one.ends_with('.')));
  return 0;
}

Result<int> calibrate(const CalibrateFlags& flags, const std::string& command) {
  if (auto ok = check_calibrate_flags(flags); !ok) return tl::unexpected(ok.error());
  auto options = analysis_options(flags);
  if (!options) return tl::unexpected(options.error());
  handle_interrupts();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like a full disk
  auto store = flags.needs_models() ? cal::Store::open(flags.database()) : cal::Store::open_to_read(flags.database());
  if (!store) return tl::unexpected(store.error());
  Calibration calibration(flags, std::move(*store), std::move(*options));
  const Status done = flags.needs_models() ? calibration.run_stages() : calibration.recall_tags();
  if (!done && done.error().kind == ErrorKind::cancelled) {
    note("Interrupted. The same command goes on: {}\n", command);
    return kExitInterrupted;
  }
  if (!done) return tl::unexpected(done.error());
  if (flags.stage != "all" && flags.stage != "cues") return 0;
  return show(calibration, flags, command);
}

}  // namespace

void add_calibrate_command(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  auto flags = std::make_shared<CalibrateFlags>();
  CLI::App* command = app.add_subcommand("calibrate", "find and prove the cues of a pair");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_calibrate_flags(*command, *flags);
  command->callback([flags, line = command_line(arguments), &code] {
    auto result = calibrate(*flags, line);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
