// relaygen bench: policies side by side on this machine, on recorded texts or on live ones.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "bench/batch_costs.h"
#include "bench/bench.h"
#include "bench/bench_json.h"
#include "cli/bundled.h"
#include "cli/commands.h"
#include "cli/cost_printing.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/machine_costs.h"
#include "cli/output.h"
#include "cli/provenance.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "core/statistics.h"
#include "io/files.h"

namespace relaygen::cli {
namespace {

const CLI::Range kCount(1, 1'000'000);
const CLI::Range kContextTokens(1, 16'000'000);

struct BenchFlags {
  ModelFlags models;
  GenerationFlags generation;
  std::vector<std::string> policies{"large-only", "relay"};
  std::string trace, prompts;
  std::vector<std::size_t> depths{256};
  std::size_t windows = 4, tokens = 128, first = 5, repetitions = 6;
  double acceptance = 0.8;
  bool explain = false;
  OutputFlags output;
};

// The prompts of live texts: the file's, or held-out problems of the bundled pair.
Result<std::vector<Request>> live_requests(const BenchFlags& flags, const Session& session) {
  std::string file = flags.prompts;
  if (file.empty()) {
    auto folder = bundled_folder();
    if (!folder) return tl::unexpected(folder.error());
    file = *folder / "models/demo/problems.heldout.jsonl";
  }
  auto content = read_file(file);
  if (!content) return tl::unexpected(content.error());
  auto prompts = parse_prompts(*content, file);
  if (!prompts) return tl::unexpected(prompts.error());
  std::vector<Request> requests;
  for (const NamedText& prompt : *prompts) {
    if (requests.size() == flags.first) break;
    const std::array<ChatMessage, 1> message{ChatMessage{"user", prompt.text}};
    auto request = make_request(session, flags.generation, message);
    if (!request) return tl::unexpected(request.error());
    requests.push_back(std::move(*request));
  }
  if (requests.empty()) return fail(ErrorKind::bad_input, fmt::format("{} holds no prompt", file), "give some");
  return requests;
}

struct Outcome {
  std::string workload{};  // a sentence
  std::size_t windows = 0;
  std::vector<bench::BenchResult> depths{};
};

Result<Outcome> replay(const BenchFlags& flags, std::span<const NamedText> texts, Session& session,
                       std::span<const bench::NamedPolicy> policies, const bench::BenchOptions& options) {
  auto traces = bench::tokenize_texts(texts, session.pair->vocabulary(), flags.trace);
  if (!traces) return tl::unexpected(traces.error());
  Outcome outcome;
  for (std::size_t i = 0; i < flags.depths.size(); ++i) {
    const auto windows =
        bench::cut_windows(session.pair->vocabulary(), *traces,
                           {.windows = flags.windows, .tokens = flags.tokens, .context = flags.depths[i]});
    bench::BenchOptions own = options;
    own.progress = [&](double fraction) {
      options.progress((static_cast<double>(i) + fraction) / static_cast<double>(flags.depths.size()));
    };
    outcome.workload =
        fmt::format("replay of {} windows of up to {} tokens from {} ({} texts), behind {} tokens", windows.size(),
                    flags.tokens, flags.trace, traces->size(), fmt::join(flags.depths, ", "));
    if (options.costs != nullptr)
      outcome.workload +=
          fmt::format("; where it is checked the small model is right at {:g}% of the places", 100 * flags.acceptance);
    outcome.windows = windows.size();
    auto result = bench::bench_replay(*session.pair, windows, policies, own);
    if (!result) return tl::unexpected(result.error());
    outcome.depths.push_back(std::move(*result));
  }
  return outcome;
}

Result<Outcome> live(const BenchFlags& flags, Session& session, std::span<const bench::NamedPolicy> policies,
                     const bench::BenchOptions& options) {
  auto requests = live_requests(flags, session);
  if (!requests) return tl::unexpected(requests.error());
  bench::BenchOptions own = options;
  own.explain = flags.explain;
  auto result = bench::bench_live(*session.pair, *requests, policies, own);
  if (!result) return tl::unexpected(result.error());
  Outcome outcome{fmt::format("{} texts written anew under each policy", requests->size()), 0, {}};
  outcome.depths.push_back(std::move(*result));
  return outcome;
}

std::string rows_table(const bench::BenchResult& result) {
  std::string table = fmt::format("{:<24}{:>8}{:>12}  {:<24}{:>7}{:>10}{:>14}  {}\n", "policy", "tokens", "ms a token",
                                  "speed-up", "small", "handoffs", "guesses", "over ideal");
  for (const bench::BenchRow& row : result.rows) {
    const auto tokens = static_cast<double>(row.usage.generated());
    const Estimate time = median(row.seconds);
    const Estimate times = median(row.speed_up);
    const std::string guesses =
        row.usage.drafted == 0
            ? ""
            : fmt::format("{:.0f}% of {}",
                          100 * static_cast<double>(row.usage.accepted) / static_cast<double>(row.usage.drafted),
                          row.usage.drafted);
    table += fmt::format("{:<24}{:>8}{:>12.3f}  {:<24}{:>6.1f}%{:>10}{:>14}", row.policy, row.usage.generated(),
                         1e3 * time.value / tokens,
                         fmt::format("{:.3f}x ({:.3f} to {:.3f})", times.value, times.low, times.high),
                         100 * static_cast<double>(row.usage.small) / tokens, row.usage.handoffs, guesses);
    if (!row.over_ideal.empty()) {
      const Estimate over = median(row.over_ideal);
      table += fmt::format("  {:+.1f}% ({:+.1f} to {:+.1f})", 100 * over.value, 100 * over.low, 100 * over.high);
    }
    table += '\n';
  }
  return table;
}

std::string result_text(const BenchFlags& flags, std::size_t windows, const bench::BenchResult& result) {
  std::string text;
  if (!flags.trace.empty()) {
    text += fmt::format("\nbehind {} tokens (both models read them in {:.2f} s a window)\n", result.rows.front().depth,
                        result.prefill / static_cast<double>(windows));
  }
  text += rows_table(result);
  for (const bench::BenchRow& row : result.rows) {
    if (const auto seconds = bench::handoff_overhead(row, result.rows.front()))
      text += fmt::format("a handoff of {} costs {:.1f} us beyond its batches\n", row.policy, 1e6 * *seconds);
  }
  if (!flags.explain) return text;
  for (const bench::BenchRow& row : result.rows) {
    text +=
        fmt::format("\n{}, seconds of one repetition\n{}", row.policy, parts_table(row.actual, row.ideal, row.other));
  }
  return text;
}

std::string text_of(const BenchFlags& flags, const Outcome& outcome) {
  std::string text = fmt::format("{}; {} repetitions\n", outcome.workload, flags.repetitions);
  for (const bench::BenchResult& result : outcome.depths) text += result_text(flags, outcome.windows, result);
  return text;
}

OrderedJson to_json(const BenchFlags& flags, const Session& session, const Outcome& outcome,
                    const std::string& command) {
  OrderedJson json = provenance("bench", command, session.pair->info());
  if (flags.models.bundled()) {
    json["notes"].push_back(kNoSpeedOfBundledPair);
  }
  json["title"] = fmt::format("{} side by side", fmt::join(flags.policies, ", "));
  json["profile"] = session.profile.name;
  json["workload"] = {{"kind", flags.trace.empty() ? "live" : "replay"}, {"text", outcome.workload}};
  json["workload"]["tokens"] = outcome.depths.front().rows.front().usage.generated();
  if (flags.trace.empty()) {
    const SamplingOptions& sampling = flags.generation.sampling;
    json["settings"] = {{"seed", session.seed},
                        {"temperature", sampling.temperature},
                        {"top_k", sampling.top_k},
                        {"top_p", sampling.top_p},
                        {"min_p", sampling.min_p}};
  }
  if (!flags.trace.empty()) json["acceptance"] = flags.acceptance;
  json["repetitions"] = flags.repetitions;
  json["baseline"] = outcome.depths.front().rows.front().policy;
  json["depths"] = OrderedJson::array();
  json["rows"] = OrderedJson::array();
  json["batch_costs"] = OrderedJson::array();
  for (const bench::BenchResult& result : outcome.depths) {
    if (!flags.trace.empty()) json["depths"].push_back(result.rows.front().depth);
    const OrderedJson rows = bench::rows_to_json(result);
    json["rows"].insert(json["rows"].end(), rows.begin(), rows.end());
    const OrderedJson costs = bench::costs_to_json(result);
    json["batch_costs"].insert(json["batch_costs"].end(), costs.begin(), costs.end());
  }
  return json;
}

Result<int> bench_pair(const BenchFlags& flags, const std::string& command) {
  if (auto ok = check_output_flags(flags.output); !ok) return tl::unexpected(ok.error());
  handle_interrupts();
  if (!flags.trace.empty() && !flags.prompts.empty())
    return fail(ErrorKind::usage, "both --trace and --prompts are given", "replay texts or write new ones");
  if (flags.trace.empty() && flags.prompts.empty() && !flags.models.bundled()) {
    return fail(ErrorKind::usage, "there is no text to measure with",
                "give --trace FILE (recorded texts to replay) or --prompts FILE (live ones)");
  }
  GenerationFlags generation = flags.generation;
  generation.policy = policy_to_load(flags.policies);
  ModelFlags models = flags.models;
  if (models.context == 0 && !flags.trace.empty()) {  // no larger caches than the windows need
    models.context = static_cast<std::int32_t>(
        bench::room_for(*std::max_element(flags.depths.begin(), flags.depths.end()), flags.tokens));
  }
  Result<std::vector<NamedText>> texts;
  if (!flags.trace.empty()) texts = bench::read_texts(flags.trace);
  if (!texts) return tl::unexpected(texts.error());
  auto profile = load_profile(generation, models.bundled());
  if (!profile) return tl::unexpected(profile.error());
  auto policies = prepare_policies(flags.policies, flags.generation, *profile);
  if (!policies) return tl::unexpected(policies.error());
  auto session = open_session(models, generation);
  if (!session) return tl::unexpected(session.error());
  for (const auto& one : *policies) {
    if (auto ok = check_engine(one.prepared.policy, *session->pair); !ok) return tl::unexpected(ok.error());
  }
  InterruptiblePair interruptible(*session->pair);

  ProgressBar bar;
  bench::BenchOptions options{
      .repetitions = flags.repetitions, .acceptance = flags.acceptance, .cancel = &interrupted()};
  if (std::ranges::any_of(*policies, [](const auto& one) { return wants_costs(one.prepared.policy); })) {
    auto measured = machine_costs(*session->pair, models);
    if (!measured) return tl::unexpected(measured.error());
    session->costs = std::move(*measured);
    options.costs = &*session->costs;
    for (auto& one : *policies) fit_to_costs(one.prepared.policy, flags.generation, *session->costs);
  }
  options.progress = [&](double fraction) { bar.show("measuring", static_cast<float>(fraction)); };
  auto outcome = flags.trace.empty() ? live(flags, *session, *policies, options)
                                     : replay(flags, *texts, *session, *policies, options);
  if (!outcome) return tl::unexpected(outcome.error());
  bar.clear();
  const OrderedJson json = to_json(flags, *session, *outcome, command);
  if (auto shown = show_result(json, text_of(flags, *outcome), flags.output); !shown)
    return tl::unexpected(shown.error());
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "measure policies side by side on this machine");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_policies_flag(*command, flags->policies);
  command->add_option("--trace", flags->trace, "replay recorded texts: the models do all the work, the text is given")
      ->type_name("FILE");
  command->add_option("--windows", flags->windows, "with --trace: pieces of the texts to replay")
      ->check(kCount)
      ->capture_default_str();
  command->add_option("--tokens", flags->tokens, "with --trace: tokens of such a piece")
      ->check(kContextTokens)
      ->capture_default_str();
  command
      ->add_option("--depth", flags->depths, "with --trace: tokens in the caches before it; several: one after another")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(kContextTokens)
      ->capture_default_str();
  command
      ->add_option("--acceptance", flags->acceptance,
                   "with --trace, where the large model checks the small one: share of places at which that is right")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--prompts", flags->prompts, "write texts anew for these prompts (JSONL with a \"prompt\")")
      ->type_name("FILE");
  command->add_option("--first", flags->first, "with live prompts: take the first N")
      ->check(kCount)
      ->capture_default_str();
  command->add_option("-r,--repetitions", flags->repetitions, "interleaved repetitions")
      ->check(kCount)
      ->capture_default_str();
  command->add_flag("--explain", flags->explain, "set predicted beside actual time, part by part");
  add_output_flags(*command, flags->output);
  add_model_flags(*command, flags->models);
  add_relay_flags(*command, flags->generation);
  add_sampling_flags(*command, flags->generation);
  command->callback([flags, line = command_line(arguments), &code] {
    auto result = bench_pair(*flags, line);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
