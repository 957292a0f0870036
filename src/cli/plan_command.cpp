// relaygen plan: what each policy would take on this machine, before anything is written.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

#include "bench/batch_costs.h"
#include "bench/bench_json.h"
#include "bench/plan.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/provenance.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace relaygen::cli {
namespace {

constexpr std::array<std::int32_t, 12> kRows{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr std::array<std::int32_t, 1> kLongRows{256};              // timed once: it takes seconds on a large model
constexpr std::array<double, 5> kShares{0.1, 0.2, 0.3, 0.4, 0.5};  // without a text to go by

struct PlanFlags {
  ModelFlags models;
  GenerationFlags generation;
  std::vector<std::string> policies{"large-only", "relay", "random", "answer-only", "small-only"};
  std::vector<std::int32_t> depths{64, 1024};
  std::string trace;
  double segment = 16;
  std::vector<double> acceptances{0.8};
  std::size_t first = 4;
  bool json = false;
};

Result<CostModel> measure(const PlanFlags& flags, Engine& engine) {
  ProgressBar bar;
  const Clock clock = steady_clock();
  const bench::Effort effort{.repeats = 5, .seconds = 3};
  std::array<std::vector<BatchCost>, 2> costs;
  const auto steps = static_cast<float>(2 * flags.depths.size() * kRows.size());
  float before = 0;
  for (const Model model : {Model::large, Model::small}) {
    for (const std::int32_t depth : flags.depths) {
      auto some = bench::measure_batches(engine, model, kRows, depth, effort, clock, [&](std::size_t done) {
        bar.show("measuring batches", (before + static_cast<float>(done)) / steps);
      });
      if (!some) return tl::unexpected(some.error());
      auto long_one = bench::measure_batches(engine, model, kLongRows, depth, {.warm_ups = 0, .repeats = 1}, clock,
                                             [](std::size_t) {});
      if (!long_one) return tl::unexpected(long_one.error());
      auto& all = costs[static_cast<std::size_t>(model)];
      all.insert(all.end(), some->begin(), some->end());
      all.insert(all.end(), long_one->begin(), long_one->end());
      before += static_cast<float>(kRows.size());
    }
  }
  auto output = bench::time_output_row(engine, clock);
  if (!output) return tl::unexpected(output.error());
  auto choice = bench::time_choice(engine, clock);
  if (!choice) return tl::unexpected(choice.error());
  return CostModel{CostTable(costs[0]), CostTable(costs[1]), *output, *choice};
}

OrderedJson plan_to_json(const bench::Plan& plan) {
  OrderedJson json{{"policy", plan.policy}, {"tokens", plan.usage.generated()}};
  json["share"] = static_cast<double>(plan.usage.small) / static_cast<double>(plan.usage.generated());
  json["handoffs"] = plan.usage.handoffs;
  json["seconds"] = plan.ideal.seconds();
  json["speed_up"] = plan.speed_up;
  json["drafted"] = plan.usage.drafted;
  json["accepted"] = plan.usage.accepted;
  json["verified"] = plan.usage.verified;
  json["refused"] = plan.usage.refused;
  json["parts"] = OrderedJson::array();
  for (const Part part : kParts) {
    const auto& [batches, rows, seconds] = plan.ideal[part];
    json["parts"].push_back({{"part", name(part)}, {"batches", batches}, {"rows", rows}, {"seconds", seconds}});
  }
  return json;
}

void print_plans(std::span<const bench::Plan> plans) {
  out("{:<24}{:>9}{:>8}{:>10}{:>12}{:>10}\n", "policy", "tokens", "small", "handoffs", "seconds", "speed-up");
  for (const bench::Plan& plan : plans) {
    out("{:<24}{:>9}{:>7.1f}%{:>10}{:>12.1f}{:>9.2f}x\n", plan.policy, plan.usage.generated(),
        100 * static_cast<double>(plan.usage.small) / static_cast<double>(plan.usage.generated()), plan.usage.handoffs,
        plan.ideal.seconds(), plan.speed_up);
  }
}

// The plans for each acceptance.
Result<std::vector<std::vector<bench::Plan>>> plan_traces(const PlanFlags& flags, std::span<const NamedText> texts,
                                                          const Session& session,
                                                          std::span<const bench::NamedPolicy> policies,
                                                          const CostModel& costs) {
  auto traces = bench::tokenize_texts(texts, session.pair->vocabulary(), flags.trace);
  if (!traces) return tl::unexpected(traces.error());
  if (flags.first > 0 && traces->size() > flags.first) traces->resize(flags.first);
  const std::array<ChatMessage, 1> message{ChatMessage{"user", "Hello"}};
  auto prompt = session.pair->render(message, true);
  if (!prompt) return tl::unexpected(prompt.error());
  RunOptions options;
  options.cancel = &interrupted();
  std::vector<std::vector<bench::Plan>> plans;
  for (const double acceptance : flags.acceptances) {
    auto some = bench::plan_policies(*session.pair, *traces, prompt->tokens, policies, costs, options, acceptance);
    if (!some) return tl::unexpected(some.error());
    plans.push_back(std::move(*some));
  }
  return plans;
}

// Without a text: what shares of the tokens would give.
OrderedJson shares_to_json(const PlanFlags& flags, const CostModel& costs) {
  OrderedJson json = OrderedJson::array();
  for (const double share : kShares) {
    json.push_back({{"share", share},
                    {"segment", flags.segment},
                    {"depth", flags.depths.front()},
                    {"speed_up", relay_speed_up(costs, share, flags.segment, flags.depths.front())}});
  }
  return json;
}

Result<int> plan(const PlanFlags& flags, const std::string& command) {
  handle_interrupts();
  GenerationFlags generation = flags.generation;
  generation.policy = flags.trace.empty() ? "large-only" : policy_to_load(flags.policies);
  ModelFlags models = flags.models;
  if (models.context == 0) models.context = 2 * *std::max_element(flags.depths.begin(), flags.depths.end()) + 512;
  Result<std::vector<NamedText>> texts;
  if (!flags.trace.empty()) texts = bench::read_texts(flags.trace);
  if (!texts) return tl::unexpected(texts.error());
  auto profile = load_profile(generation, models.bundled());
  if (!profile) return tl::unexpected(profile.error());
  auto policies = prepare_policies(flags.policies, flags.generation, *profile);
  if (!policies) return tl::unexpected(policies.error());
  auto session = open_session(models, generation);
  if (!session) return tl::unexpected(session.error());
  InterruptiblePair interruptible(*session->pair);
  const std::int32_t deepest = *std::max_element(flags.depths.begin(), flags.depths.end());
  if (deepest > session->pair->info().window / 2) {
    return fail(ErrorKind::usage,
                fmt::format("batches behind {} tokens need a context of twice that, and there is one of {}", deepest,
                            session->pair->info().window),
                "give a larger -c, or less --depth");
  }
  auto costs = measure(flags, *session->pair);
  if (!costs) return tl::unexpected(costs.error());
  for (auto& one : *policies) fit_to_costs(one.prepared.policy, flags.generation, *costs);

  OrderedJson json = provenance("plan", command, session->pair->info());
  json["batch_costs"] = bench::costs_to_json(*costs);
  if (flags.trace.empty()) {
    json["shares"] = shares_to_json(flags, *costs);
    if (!flags.json) {
      out("time of the large model alone divided by the relay's, for small segments of {:.0f} tokens\n", flags.segment);
      for (const auto& one : json["shares"]) {
        out("  {:.0f}% of the tokens by the small model: {:.2f}x\n", 100 * one["share"].get<double>(),
            one["speed_up"].get<double>());
      }
      out("With --trace FILE (texts of the large model) and --profile FILE the shares are those of the cues.\n");
    }
  } else {
    auto plans = plan_traces(flags, *texts, *session, *policies, *costs);
    if (!plans) return tl::unexpected(plans.error());
    json["profile"] = session->profile.name;
    json["plan"] = OrderedJson::array();
    for (std::size_t i = 0; i < plans->size(); ++i) {
      const auto& some = (*plans)[i];
      for (const bench::Plan& one : some) {
        json["plan"].push_back(plan_to_json(one));
        json["plan"].back()["acceptance"] = flags.acceptances[i];
      }
      if (flags.json) continue;
      if (plans->size() > 1)
        out("{}where it is checked the small model is right at {:g}% of the places\n", i == 0 ? "" : "\n",
            100 * flags.acceptances[i]);
      print_plans(some);
    }
  }
  if (flags.json) out("{}\n", to_line(json));
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return 0;
}

}  // namespace

void add_plan_command(CLI::App& app, const std::vector<std::string>& arguments, int& code) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand("plan", "predict what each policy would take on this machine");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("--trace", flags->trace, "texts of the large model: their cues and lengths decide")
      ->type_name("FILE");
  command->add_option("--first", flags->first, "take the first N texts (0: all)")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  add_policies_flag(*command, flags->policies);
  command->add_option("--depth", flags->depths, "context depths to measure batches at; costs between and beyond follow")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Range(1, 16'000'000))
      ->capture_default_str();
  command->add_option("--segment", flags->segment, "without --trace: tokens of a small segment")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--acceptance", flags->acceptances,
                   "where the large model checks the small one: share of places at which that is right")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON object");
  add_model_flags(*command, flags->models);
  add_relay_flags(*command, flags->generation);
  command->callback([flags, line = command_line(arguments), &code] {
    auto result = plan(*flags, line);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
