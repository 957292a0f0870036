// relaygen run: one prompt, one text.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "bench/batch_costs.h"
#include "bench/bench_json.h"
#include "cli/bundled.h"
#include "cli/commands.h"
#include "cli/cost_printing.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/printing.h"
#include "cli/session.h"
#include "io/completion_json.h"
#include "io/files.h"
#include "io/line_writer.h"

namespace relaygen::cli {
namespace {

struct RunFlags {
  ModelFlags models;
  GenerationFlags generation;
  std::optional<std::string> prompt;
  std::string file, trace, color = "auto";
  bool json = false, compare = false, quiet = false, explain = false;
};

// Whether standard input is something to read: a pipe or a file, and no terminal or /dev/null.
bool input_is_given() {
  struct stat status = {};
  return ::fstat(STDIN_FILENO, &status) == 0 && !S_ISCHR(status.st_mode);
}

struct Prompt {
  std::string text;
  std::optional<BundledProblem> problem;
};

Result<Prompt> read_prompt(const RunFlags& flags) {
  Prompt prompt;
  std::string source = "the prompt";
  if (flags.prompt && !flags.file.empty())
    return fail(ErrorKind::usage, "both a prompt and -f are given", "give one of them");
  if (!flags.file.empty() || (!flags.prompt && input_is_given())) {
    source = flags.file.empty() || flags.file == "-" ? "standard input" : flags.file;
    auto text = read_file(flags.file.empty() ? "-" : flags.file);
    if (!text) return tl::unexpected(text.error());
    prompt.text = std::move(*text);
    while (prompt.text.ends_with('\n') || prompt.text.ends_with('\r')) prompt.text.pop_back();
  } else if (!flags.prompt && flags.models.bundled()) {
    auto problem = bundled_problem();
    if (!problem) return tl::unexpected(problem.error());
    prompt.text = problem->question;
    prompt.problem = std::move(*problem);
  } else {
    prompt.text = flags.prompt.value_or("");
  }
  if (prompt.text.find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(ErrorKind::bad_input, source == "the prompt" ? "there is no prompt" : source + " is empty",
                "give a prompt as an argument, with -f FILE, or on standard input");
  }
  if (prompt.text.starts_with("\xEF\xBB\xBF")) prompt.text.erase(0, 3);  // a byte order mark is no part of the text
  if (auto ok = check_utf8(prompt.text, source); !ok) return tl::unexpected(ok.error());
  return prompt;
}

class Trace {
 public:
  static Result<Trace> open(const std::string& path) {
    Trace trace;
    if (path.empty()) return trace;
    auto writer = LineWriter::open(path);
    if (!writer) return tl::unexpected(writer.error());
    trace.writer_ = std::make_unique<LineWriter>(std::move(*writer));
    return trace;
  }
  void write(const OrderedJson& json) {
    if (writer_) writer_->write(to_line(json));
  }
  [[nodiscard]] bool enabled() const { return writer_ != nullptr; }
  [[nodiscard]] std::optional<Error> error() const { return writer_ ? writer_->error() : std::nullopt; }

 private:
  std::unique_ptr<LineWriter> writer_;
};

OrderedJson describe(const Session& session, const std::string& policy) {
  return {{"large", session.pair->info().large.name},
          {"small", session.pair->info().small.name},
          {"policy", policy},
          {"adapted", session.adapted},
          {"profile", session.profile.name},
          {"seed", session.seed}};
}

/// Predicted beside actual, for --explain.
struct Explanation {
  PartTimes actual, predicted;
  double other = 0;
};

struct Written {
  Completion completion;
  std::optional<Explanation> explanation;
};

// Measures the batches that the text took once more, each by itself.
std::optional<Explanation> explain(Session& session, const bench::Account& account) {
  const auto costs = bench::price_schedule(*session.pair, account.schedule, steady_clock());
  if (!costs) {
    print_warning("the time is not explained: " + costs.error().message);
    return std::nullopt;
  }
  return Explanation{account.parts(), ideal_time(account.schedule, *costs), account.other()};
}

// Writes one text. An error on the way is part of the completion, one of the request is an error.
Result<Written> write_text(Session& session, const Request& request, const std::string& policy, Trace& trace,
                           const EventSink& show, const RunFlags& flags) {
  bench::RecordingEngine books(*session.pair);
  books.start(request.prompt.size());
  auto generation = Generation::create(books, request);
  if (!generation) return tl::unexpected(generation.error());
  if (trace.enabled()) {
    OrderedJson start{{"type", "start"}, {"version", RELAYGEN_VERSION}};
    start.update(describe(session, policy));
    start["prompt_tokens"] = request.prompt;
    trace.write(start);
  }
  RunOptions options;
  options.cancel = &interrupted();
  options.costs = session.costs ? &*session.costs : nullptr;
  options.events = [&](const Event& event) {
    if (show) show(event);
    if (trace.enabled()) trace.write(event_to_json(event, request.cues));
  };
  (void)generation->run(books, options);  // the completion keeps the error
  Completion completion = generation->completion();
  if (trace.enabled()) {
    trace.write({{"type", "end"},
                 {"finish", name(completion.finish)},
                 {"usage", usage_to_json(completion.usage)},
                 {"timing", timing_to_json(completion.timing)}});
  }
  Written written{std::move(completion), {}};
  if (flags.explain) written.explanation = explain(session, bench::account_of(books, written.completion));
  return written;
}

OrderedJson text_to_json(const Written& written, const CueSet& cues) {
  OrderedJson json = completion_to_json(written.completion, cues);
  if (const auto& why = written.explanation)
    json["explain"] = bench::parts_to_json(why->actual, why->predicted, why->other);
  return json;
}

int report_problems(const std::optional<Error>& error, const Trace& trace) {
  int code = 0;
  if (const auto trace_error = trace.error()) {
    print_error(*trace_error);
    code = exit_code(trace_error->kind);
  }
  if (auto flushed = flush_output(); !flushed) {
    print_error(flushed.error());
    code = exit_code(flushed.error().kind);
  }
  if (error && !(error->kind == ErrorKind::cancelled && code != 0)) {  // a failed output stops the text as well
    if (error->kind != ErrorKind::cancelled) print_error(*error);
    code = exit_code(error->kind);
  }
  return code;
}

Result<Written> show_text(Session& session, const Request& request, const std::string& policy, Trace& trace,
                          const RunFlags& flags) {
  if (flags.json) return write_text(session, request, policy, trace, {}, flags);
  StreamPrinter printer(use_color(color_mode(flags.color), STDOUT_FILENO));
  auto written = write_text(session, request, policy, trace, std::ref(printer), flags);
  printer.finish(written ? written->completion.text : "");
  if (written && !flags.quiet) {
    note("\n{}", summary(written->completion));
    if (request.sampling.temperature > 0) note("the same text again: --seed {}\n", session.seed);
  }
  if (written && written->explanation) {
    const Explanation& why = *written->explanation;
    note("\nseconds by part; predicted from each batch measured by itself\n{}",
         parts_table(why.actual, why.predicted, why.other));
  }
  return written;
}

Result<int> run_once(Session& session, const Request& request, Trace& trace, const RunFlags& flags) {
  const auto written = show_text(session, request, flags.generation.policy, trace, flags);
  if (!written) return tl::unexpected(written.error());
  if (flags.json) {
    OrderedJson json = describe(session, flags.generation.policy);
    json.update(text_to_json(*written, request.cues));
    out("{}\n", to_line(json));
  }
  return report_problems(written->completion.error, trace);
}

double seconds_per_token(const Completion& completion) {
  const Usage& usage = completion.usage;
  const auto generated = usage.generated();
  return generated == 0 ? 0 : (completion.timing.total - completion.timing.prefill) / static_cast<double>(generated);
}

// The large model alone first, then the policy. Both texts may differ in length, so tokens a second is given beside time.
Result<int> run_compare(Session& session, const Request& request, Trace& trace, const RunFlags& flags) {
  Request alone = request;
  alone.policy.handoffs = HandoffRule::never;
  alone.policy.thinker = alone.policy.answer_by = Model::large;
  alone.policy.verify = Verification::off;
  alone.policy.draft = {};
  warm_up(*session.pair);
  const auto title = [&](std::string_view text) {
    if (!flags.json) out("--- {} ---\n", text);
  };
  title("large-only");
  const auto first = show_text(session, alone, "large-only", trace, flags);
  if (!first) return tl::unexpected(first.error());
  const Completion* large = &first->completion;
  OrderedJson json = describe(session, flags.generation.policy);
  json["large_only"] = text_to_json(*first, request.cues);
  json[flags.generation.policy] = nullptr;
  if (large->error) {  // what there is of the first text is not lost
    if (flags.json) out("{}\n", to_line(json));
    return report_problems(large->error, trace);
  }
  title(flags.generation.policy);
  const auto second = show_text(session, request, flags.generation.policy, trace, flags);
  if (!second) return tl::unexpected(second.error());
  const Completion* both = &second->completion;
  const double per_token = seconds_per_token(*both) == 0 ? 0 : seconds_per_token(*large) / seconds_per_token(*both);
  const double in_total = both->timing.total == 0 ? 0 : large->timing.total / both->timing.total;
  if (flags.json) {
    json[flags.generation.policy] = text_to_json(*second, request.cues);
    json["speed_up_per_token"] = per_token;
    json["speed_up_total"] = in_total;
    out("{}\n", to_line(json));
  } else {
    note(
        "{} against large-only: {:.2f}x by time in all, {:.2f}x by time a token after the prompt ({:.2f} and {:.2f} ms "
        "a token)\n",
        flags.generation.policy, in_total, per_token, 1e3 * seconds_per_token(*both), 1e3 * seconds_per_token(*large));
    if (flags.models.bundled()) {
      note("{} `relaygen check` measures that for your own pair.\n", kNoSpeedOfBundledPair);
    }
  }
  return report_problems(both->error, trace);
}

Result<int> run(const RunFlags& flags) {
  handle_interrupts();
  auto prompt = read_prompt(flags);
  if (!prompt) return tl::unexpected(prompt.error());
  auto trace = Trace::open(flags.trace);
  if (!trace) return tl::unexpected(trace.error());
  if (auto ok = check_settings({&flags.generation.policy, 1}, flags.generation); !ok) return tl::unexpected(ok.error());
  auto session = open_session(flags.models, flags.generation);
  if (!session) return tl::unexpected(session.error());
  InterruptiblePair interruptible(*session->pair);

  std::vector<ChatMessage> messages;
  if (!flags.generation.system.empty()) messages.push_back({"system", flags.generation.system});
  messages.push_back({"user", prompt->text});
  auto request = make_request(*session, flags.generation, messages);
  if (!request) return tl::unexpected(request.error());

  if (prompt->problem && !flags.json && !flags.quiet) {
    note("Problem {} of the bundled pair: {} (expected: {})\n", prompt->problem->id, prompt->problem->question,
         prompt->problem->answer);
  }
  if (!flags.json && !flags.quiet && use_color(color_mode(flags.color), STDERR_FILENO)) note("{}\n", legend());
  return flags.compare ? run_compare(*session, *request, *trace, flags) : run_once(*session, *request, *trace, flags);
}

}  // namespace

void add_run_command(CLI::App& app, int& code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "write one answer");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as llama.cpp does
  command->add_option("PROMPT,-p,--prompt", flags->prompt,
                      "the prompt (or -f FILE, or standard input; with neither and no models: a bundled problem)");
  command->add_option("-f,--file", flags->file, "read the prompt from a file; - is standard input")->type_name("FILE");
  command->add_option("--color", flags->color, "colour the text by author")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON object instead of the text");
  command->add_option("--trace", flags->trace, "write every event to a file, one JSON object a line")
      ->type_name("FILE");
  command->add_flag("--compare", flags->compare,
                    "write it with the large model alone first, then by the policy, and compare");
  command->add_flag("--explain", flags->explain,
                    "then measure every batch by itself, and set predicted beside actual time");
  command->add_flag("-q,--quiet", flags->quiet, "no summary");
  add_model_flags(*command, flags->models);
  add_generation_flags(*command, flags->generation);
  command->callback([flags, &code] {
    flags->generation.policy = whole_policy_name(flags->generation);
    auto result = run(*flags);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
