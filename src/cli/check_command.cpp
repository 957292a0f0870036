// relaygen check: whether two models make a pair, what it needs, and what the relay can gain with it here.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "bench/batch_costs.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/printing.h"
#include "cli/session.h"
#include "io/completion_json.h"

namespace relaygen::cli {
namespace {

constexpr std::array<std::int32_t, 9> kRows{1, 2, 3, 4, 6, 8, 12, 16, 24};
constexpr std::int32_t kDepth = 64;  // tokens before each measured batch
constexpr double kSegment = 16;      // tokens; what published cues give on real traces
constexpr std::array<double, 2> kShares{0.27, 0.36};
constexpr std::array<double, 3> kAcceptances{0.6, 0.8, 0.95};

struct CheckFlags {
  ModelFlags models;
  bool json = false;
};

std::string memory(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return bytes < (1ULL << 30) ? fmt::format("{:.1f} MiB", value / (1 << 20))
                              : fmt::format("{:.1f} GiB", value / (1 << 30));
}

void print_memory(const PairMemory& needed) {
  for (const auto& [which, one] : {std::pair{"large", &needed.large}, std::pair{"small", &needed.small}}) {
    out("memory, {} model: {} (weights {}, cache {}, compute {})\n", which, memory(one->total()), memory(one->weights),
        memory(one->cache), memory(one->compute));
  }
  out("memory in all: {}{}\n", memory(needed.large.total() + needed.small.total()),
      needed.available == 0 ? "" : fmt::format(", {} are free", memory(needed.available)));
}

void print_info(const PairInfo& info) {
  out("the two models share one vocabulary ({} tokens, {})\n",
      std::min(info.large.vocabulary_size, info.small.vocabulary_size), info.large.vocabulary_hash);
  for (const auto& [which, one] : {std::pair{"large", &info.large}, std::pair{"small", &info.small}}) {
    out("{}: {} ({}), trained with a window of {} tokens; {}; {}\n", which, one->name, one->description,
        one->training_window,
        one->can_cut_cache ? "its cache can be cut"
                           : "its cache cannot be cut: relaying works, drafts and verification do not",
        one->has_chat_template ? "has a chat template" : "has no chat template");
  }
  if (!info.same_chat_template) out("their chat templates differ: the large model's is used\n");
  out("window: {} tokens; threads: {}\n", info.window, info.threads);
}

void print_tags(const ThinkingTags& tags, PromptState state) {
  if (tags.ends.empty()) {
    out("thinking tags: none; the whole text counts as thinking for the relay\n");
    return;
  }
  out("thinking tags: {} ... {}{}\n", tags.begin.empty() ? "(none)" : tags.begin, tags.ends.front(),
      state == PromptState::thinking ? " (opened by the prompt)" : "");
}

OrderedJson costs_to_json(std::span<const BatchCost> costs) {
  OrderedJson json = OrderedJson::array();
  for (const BatchCost& cost : costs) json.push_back({{"rows", cost.rows}, {"seconds", cost.seconds}});
  return json;
}

OrderedJson memory_to_json(const MemoryEstimate& one) {
  return {{"total", one.total()}, {"weights", one.weights}, {"cache", one.cache}, {"compute", one.compute}};
}

OrderedJson model_to_json(const PairInfo::One& one) {
  return {{"name", one.name},
          {"description", one.description},
          {"training_window", one.training_window},
          {"vocabulary_size", one.vocabulary_size},
          {"vocabulary_hash", one.vocabulary_hash},
          {"can_cut_cache", one.can_cut_cache},
          {"has_chat_template", one.has_chat_template}};
}

void print_costs(std::span<const BatchCost> large, std::span<const BatchCost> small) {
  out("milliseconds a batch\n  rows  {:>10}  {:>10}\n", "large", "small");
  for (std::size_t i = 0; i < large.size(); ++i)
    out("  {:>4}  {:>10.3f}  {:>10.3f}\n", large[i].rows, 1e3 * large[i].seconds, 1e3 * small[i].seconds);
}

double speed_up(const CostModel& costs, double share) { return relay_speed_up(costs, share, kSegment, kDepth); }

// Against the large model alone without drafts.
double drafted_speed_up(const CostModel& costs, double acceptance) {
  return drafted_rate(costs, acceptance, kDepth) * costs.large.seconds(1, kDepth);
}

double drafted_relay_speed_up(const CostModel& costs, double share, double acceptance) {
  return relay_speed_up(costs, share, kSegment, kDepth, acceptance) * drafted_speed_up(costs, acceptance);
}

void print_gain(const CostModel& costs, double most) {
  for (const double share : kShares) {
    out("relay with {:.0f}% of the tokens by the small model, {:.0f} a segment: {:.2f}x\n", 100 * share, kSegment,
        speed_up(costs, share));
  }
  for (const double acceptance : kAcceptances) {
    out("with drafts that are right at {:.0f}% of the places: large model {:.2f}x, relay with {:.0f}% {:.2f}x\n",
        100 * acceptance, drafted_speed_up(costs, acceptance), 100 * kShares[0],
        drafted_relay_speed_up(costs, kShares[0], acceptance));
  }
  if (most < 1.02) {
    out("This pair will not gain from the relay without drafts on this machine: even if the small model wrote nearly "
        "everything, it "
        "would be {:.2f}x.\n",
        most);
  } else {
    out("At most without drafts, with nearly everything by the small model: {:.2f}x.\n", most);
  }
}

Result<int> check(const CheckFlags& flags) {
  handle_interrupts();
  auto options = pair_options(flags.models);
  if (!options) return tl::unexpected(options.error());
  auto needed = estimate_memory(*options);
  if (!needed) return tl::unexpected(needed.error());
  if (!flags.json) print_memory(*needed);

  auto pair = load_pair(flags.models);
  if (!pair) return tl::unexpected(pair.error());
  InterruptiblePair interruptible(**pair);
  const PairInfo& info = (*pair)->info();
  if (!flags.json) print_info(info);
  const std::array<ChatMessage, 1> message{ChatMessage{"user", "Hello"}};
  auto prompt = (*pair)->render(message, true);
  if (!prompt) return tl::unexpected(prompt.error());
  if (!flags.json) print_tags(prompt->tags, prompt->state);

  ProgressBar bar;
  const Clock clock = steady_clock();
  const auto measure = [&](Model model, std::size_t before) {
    return bench::measure_batches(**pair, model, kRows, kDepth, {}, clock, [&](std::size_t done) {
      bar.show("measuring batches", static_cast<float>(before + done) / static_cast<float>(2 * kRows.size()));
    });
  };
  auto large = measure(Model::large, 0);
  if (!large) return tl::unexpected(large.error());
  auto small = measure(Model::small, kRows.size());
  if (!small) return tl::unexpected(small.error());
  bar.clear();

  CostModel costs{CostTable(*large), CostTable(*small)};
  auto output = bench::time_output_row(**pair, clock);
  if (!output) return tl::unexpected(output.error());
  costs.output_row = *output;
  const double most = speed_up(costs, 0.99);
  if (flags.json) {
    OrderedJson json{{"large", model_to_json(info.large)},
                     {"small", model_to_json(info.small)},
                     {"window", info.window},
                     {"threads", info.threads},
                     {"same_chat_template", info.same_chat_template}};
    json["thinking_tags"] = {{"begin", prompt->tags.begin}, {"ends", prompt->tags.ends}};
    json["memory"] = {{"large", memory_to_json(needed->large)},
                      {"small", memory_to_json(needed->small)},
                      {"available", needed->available}};
    json["batches"] = {{"large", costs_to_json(*large)}, {"small", costs_to_json(*small)}};
    json["speed_up"] = OrderedJson::array();
    for (const double share : kShares)
      json["speed_up"].push_back({{"small_share", share}, {"times", speed_up(costs, share)}});
    json["speed_up_at_most"] = most;
    json["drafts"] = OrderedJson::array();
    for (const double acceptance : kAcceptances) {
      json["drafts"].push_back({{"acceptance", acceptance},
                                {"large", drafted_speed_up(costs, acceptance)},
                                {"relay", drafted_relay_speed_up(costs, kShares[0], acceptance)}});
    }
    out("{}\n", to_line(json));
  } else {
    print_costs(*large, *small);
    print_gain(costs, most);
  }
  if (auto flushed = flush_output(); !flushed) return tl::unexpected(flushed.error());
  return 0;
}

}  // namespace

void add_check_command(CLI::App& app, int& code) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command =
      app.add_subcommand("check", "tell whether two models make a pair, and what the relay can gain with it here");
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_flag("--json", flags->json, "print one JSON object");
  add_model_flags(*command, flags->models);
  command->callback([flags, &code] {
    auto result = check(*flags);
    if (!result) print_error(result.error());
    code = result ? *result : exit_code(result.error().kind);
  });
}

}  // namespace relaygen::cli
