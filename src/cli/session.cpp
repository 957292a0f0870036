#include "cli/session.h"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "cli/interrupt.h"
#include "cli/machine_costs.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "io/names.h"

namespace relaygen::cli {
namespace {

// llama.cpp's lines on standard error, with -v.
LogSink log_sink(bool verbose) {
  if (!verbose) return {};
  static const auto logger = [] {
    auto made = spdlog::stderr_logger_mt("llama.cpp");
    made->set_pattern("%n: %v");
    made->set_level(spdlog::level::debug);
    return made;
  }();
  return [](int level, std::string_view line) {
    constexpr std::array levels{spdlog::level::debug, spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                spdlog::level::err};
    logger->log(levels[static_cast<std::size_t>(std::clamp(level, 0, 4))], line);
  };
}

bool same_model(const ProfileModel& expected, const PairInfo::One& actual) {
  if (!expected.vocabulary.empty() && expected.vocabulary != actual.vocabulary_hash) return false;
  if (expected.name.empty()) return true;
  const std::string a = simplified(expected.name);
  const std::string b = simplified(actual.name);
  return a.find(b) != std::string::npos || b.find(a) != std::string::npos;
}

void warn_of_the_pair(const PairInfo& info) {
  for (const auto& [which, one] : {std::pair{"large", &info.large}, std::pair{"small", &info.small}}) {
    if (info.window > one->training_window) {
      print_warning(fmt::format("the window of {} tokens is larger than the {} that the {} model was trained with",
                                info.window, one->training_window, which));
    }
  }
  if (!info.large.has_chat_template) print_warning("the large model brings no chat template: ChatML is used");
}

void warn_of_no_drafts(const PairInfo& info) {
  for (const auto& [which, one] : {std::pair{"large", &info.large}, std::pair{"small", &info.small}}) {
    if (one->can_cut_cache) continue;
    print_warning(fmt::format("the {} model cannot take tokens back, so nothing is guessed ahead", which));
    return;
  }
}

void warn_of_foreign_profile(const Profile& profile, const PairInfo& info) {
  for (const auto& [which, expected, actual] :
       {std::tuple{"large", &profile.large, &info.large}, std::tuple{"small", &profile.small, &info.small}}) {
    if (same_model(*expected, *actual)) continue;
    print_warning(
        fmt::format("the profile was made for {} as the {} model, this is {}: its cues may be unsafe for this pair",
                    expected->name.empty() ? "another vocabulary" : expected->name, which, actual->name));
  }
}

constexpr double kDepth = 256;  // tokens in the cache where costs are compared

bool tries_and_verifies(const Policy& policy) {
  return policy.handoffs == HandoffRule::always && policy.verify != Verification::off;
}

// Where handing over loses time on this machine it is left, and that is said once.
void adapt(Session& session, const ModelFlags& models) {
  Policy& policy = session.prepared.policy;
  if (policy.handoffs != HandoffRule::cues || policy.verify != Verification::off || models.bundled()) return;
  constexpr double kUsualShare = 0.28, kUsualSegment = 16;
  const auto& calibration = session.profile.calibration;
  const double share = calibration && calibration->share ? calibration->share->value : kUsualShare;
  if (!(share > 0 && share < 1)) return;
  const bool drafts = policy.draft.small_model && session.pair->limits().can_cut;
  const double acceptance = drafts ? policy.draft.acceptance : 0;
  const double gain = relay_speed_up(*session.costs, share, kUsualSegment, kDepth, acceptance);
  if (gain >= 1) return;
  policy.handoffs = HandoffRule::never;
  print_warning(
      fmt::format("on this machine handoffs in the thinking would make this pair slower ({:.2f} of the speed{}), so "
                  "the large model "
                  "writes it; --no-adapt hands over all the same",
                  gain, acceptance > 0 ? " with drafts alone" : ""));
}

}  // namespace

void warn_of_doubts(const PairInfo& info, const Profile* profile) {
  warn_of_the_pair(info);
  if (profile != nullptr) warn_of_foreign_profile(*profile, info);
}

void print_error(const Error& error) {
  const bool color = use_color(ColorMode::automatic, STDERR_FILENO);
  note("{} {}.{}\n", paint("relaygen:", "\x1b[1;31m", color), error.message,
       error.hint.empty() ? "" : fmt::format(" To do: {}.", error.hint));
}

void print_warning(std::string_view message) {
  const bool color = use_color(ColorMode::automatic, STDERR_FILENO);
  note("{} {}.\n", paint("relaygen: warning:", "\x1b[33m", color), message);
}

Result<std::unique_ptr<Pair>> load_pair(const ModelFlags& models) {
  auto options = pair_options(models);
  if (!options) return tl::unexpected(options.error());
  return load_pair(*options, models.verbose);
}

Result<std::unique_ptr<Pair>> load_pair(const PairOptions& options, bool verbose) {
  ProgressBar bar;
  const auto progress = [&](Model model, float fraction) {
    bar.show(fmt::format("loading the {} model", name(model)), fraction);
    return !interrupted().load();
  };
  return Pair::load(options, progress, log_sink(verbose));
}

Result<Session> open_session(const ModelFlags& models, const GenerationFlags& generation) {
  // What is wrong with the flags is said before models are loaded.
  if (auto options = pair_options(models); !options) return tl::unexpected(options.error());
  auto profile = load_profile(generation, models.bundled());
  if (!profile) return tl::unexpected(profile.error());
  auto prepared = prepare_policy(policy_choice(generation), *profile);
  if (!prepared) return tl::unexpected(prepared.error());
  Request values{.policy = prepared->policy,
                 .sampling = generation.sampling,
                 .budgets = generation.budgets,
                 .stop = generation.stop};
  if (auto ok = check_values(values); !ok) return tl::unexpected(ok.error());
  auto pair = load_pair(models);
  if (!pair) return tl::unexpected(pair.error());
  warn_of_doubts((*pair)->info(), uses_cues(generation.policy) ? &*profile : nullptr);
  const std::uint64_t seed =
      generation.seed >= 0 ? static_cast<std::uint64_t>(generation.seed) : std::random_device{}();
  Session session{std::move(*pair), std::move(*profile), std::move(*prepared), std::nullopt, seed};
  if (auto ok = check_engine(session.prepared.policy, *session.pair); !ok) return tl::unexpected(ok.error());
  if (wants_costs(session.prepared.policy)) {
    if (!session.pair->limits().can_cut) warn_of_no_drafts(session.pair->info());
    InterruptiblePair interruptible(*session.pair);
    auto costs = machine_costs(*session.pair, models);
    if (!costs) return tl::unexpected(costs.error());
    session.costs = std::move(*costs);
    fit_to_costs(session.prepared.policy, generation, *session.costs);
    if (!generation.no_adapt) adapt(session, models);
  }
  return session;
}

Status check_settings(std::span<const std::string> words, const GenerationFlags& flags) {
  std::vector<std::string> names;
  for (const std::string& word : words) names.push_back(full_policy_name(word));
  return check_settings(names, policy_choice(flags));
}

Result<std::vector<bench::NamedPolicy>> prepare_policies(std::span<const std::string> words,
                                                         const GenerationFlags& flags, const Profile& profile) {
  if (auto ok = check_settings(words, flags); !ok) return tl::unexpected(ok.error());
  std::vector<bench::NamedPolicy> policies;
  for (const std::string& word : words) {
    PolicyChoice choice = policy_choice(flags);
    choice.name = full_policy_name(word);
    auto prepared = prepare_policy(choice, profile);
    if (!prepared) return tl::unexpected(prepared.error());
    if (auto ok = check_values(Request{.policy = prepared->policy}); !ok) return tl::unexpected(ok.error());
    policies.push_back({choice.name, std::move(*prepared)});
  }
  return policies;
}

Status check_engine(const Policy& policy, const Engine& engine) {
  if (policy.verify == Verification::off || engine.limits().can_cut) return std::monostate{};
  return fail(ErrorKind::usage, "a model of this pair cannot take tokens back, which verification needs",
              "leave --verify (or +typical, +strict) out");
}

bool wants_costs(const Policy& policy) { return policy.draft.on() || tries_and_verifies(policy); }

bool is_left_to_costs(const Policy& policy, const GenerationFlags& flags) {
  return tries_and_verifies(policy) && !flags.max_small_tokens;
}

void fit_to_costs(Policy& policy, const GenerationFlags& flags, const CostModel& costs) {
  if (is_left_to_costs(policy, flags)) policy.max_small_tokens = longest_trial(costs, kDepth);
}

std::string policy_to_load(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (auto name = full_policy_name(word); uses_cues(name)) return name.substr(0, name.find('+'));
  }
  return "large-only";
}

Result<Request> make_request(const Session& session, const GenerationFlags& flags,
                             std::span<const ChatMessage> messages) {
  auto request = make_request(*session.pair, session.prepared, flags, messages);
  if (request) request->seed = session.seed;
  return request;
}

Result<Request> make_request(const Pair& pair, const PreparedPolicy& prepared, const GenerationFlags& flags,
                             std::span<const ChatMessage> messages) {
  auto prompt = pair.render(messages, !flags.no_thinking);
  if (!prompt) return tl::unexpected(prompt.error());
  Request request;
  request.prompt = std::move(prompt->tokens);
  request.tags = std::move(prompt->tags);
  request.prompt_state = prompt->state;
  request.policy = prepared.policy;
  // The evidence for the small model's answers is about answers that follow the large model's thinking.
  if (flags.answer_by == "auto" && prompt->state == PromptState::answering)
    request.policy.answer_by = request.policy.thinker;
  request.cues = prepared.cues;
  request.sampling = flags.sampling;
  request.budgets = flags.budgets;
  request.stop = flags.stop;
  request.judge = flags.judge;
  return request;
}

}  // namespace relaygen::cli
