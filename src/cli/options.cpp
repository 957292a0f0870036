#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/bundled.h"

namespace relaygen::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 21> kShortFlags{{
    {"-ms", "--model-small"},
    {"-md", "--model-small"},
    {"-ngl", "--gpu-layers"},
    {"-ngls", "--gpu-layers-small"},
    {"-ngld", "--gpu-layers-small"},
    {"-tb", "--threads-batch"},
    {"-ub", "--ubatch-size"},
    {"-fa", "--flash-attn"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-ctks", "--cache-type-k-small"},
    {"-ctvs", "--cache-type-v-small"},
    {"-ctkd", "--cache-type-k-small"},
    {"-ctvd", "--cache-type-v-small"},
    {"-sys", "--system-prompt"},
    {"--model-draft", "--model-small"},
    {"--gpu-layers-draft", "--gpu-layers-small"},
    {"--n-gpu-layers-draft", "--gpu-layers-small"},
    {"--cache-type-k-draft", "--cache-type-k-small"},
    {"--cache-type-v-draft", "--cache-type-v-small"},
    {"--temperature", "--temp"},
}};

FlashAttention flash_attention(std::string_view text) {
  if (text == "on" || text == "1") return FlashAttention::on;
  return text == "off" || text == "0" ? FlashAttention::off : FlashAttention::automatic;
}

const CLI::Validator kPolicyName(
    [](std::string& word) {
      const auto ok = check_policy_name(full_policy_name(word));
      return ok ? std::string() : fmt::format("{}; to do: {}", ok.error().message, ok.error().hint);
    },
    "");

// Flags whose value is any text, also one that looks like a flag.
constexpr std::array<std::string_view, 4> kTextFlags{"--stop", "--prompt", "-p", "--system-prompt"};

}  // namespace

std::vector<std::string> expand_short_flags(int argc, const char* const* argv) {
  std::vector<std::string> result;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--") {
      for (; i < argc; ++i) result.emplace_back(argv[i]);
      break;
    }
    const bool is_text =
        !result.empty() && std::find(kTextFlags.begin(), kTextFlags.end(), result.back()) != kTextFlags.end();
    for (const auto& [flag, name] : kShortFlags) {
      if (is_text) break;
      if (argument == flag) {
        argument = name;
      } else if (argument.starts_with(flag) && argument[flag.size()] == '=') {
        argument = std::string(name) + argument.substr(flag.size());
      }
    }
    result.push_back(std::move(argument));
  }
  return result;
}

void add_model_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("-m,--model", flags.large, "the large model, a GGUF file (without -m and -ms: the bundled pair)")
      ->group("Models")
      ->type_name("FILE");
  app.add_option("--model-small", flags.small, "-ms, -md: the small model, a GGUF file with the same vocabulary")
      ->group("Models")
      ->type_name("FILE");
  app.add_option("--gpu-layers,--n-gpu-layers", flags.gpu_layers,
                 "-ngl: layers of the large model on the GPU (-1: all)")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--gpu-layers-small", flags.gpu_layers_small,
                 "-ngls: layers of the small model on the GPU (default: as -ngl)")
      ->group("Models")
      ->type_name("N");
  app.add_option("-t,--threads", flags.threads, "threads (0: physical cores, or 1 where both models are tiny)")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--threads-batch", flags.threads_batch, "-tb: threads for batches (0: as -t)")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-c,--ctx-size", flags.context,
                 "window in tokens (0: the smaller of what the two models were trained with)")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-b,--batch-size", flags.batch, "most tokens in one batch")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--ubatch-size", flags.micro_batch,
                 "-ub: most tokens in one pass over the weights (128 at most on CPUs with -fa auto)")
      ->group("Models")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--flash-attn", flags.flash_attention, "-fa: flash attention (auto: off on CPUs, where it is slower)")
      ->group("Models")
      ->check(CLI::IsMember({"on", "off", "auto", "1", "0"}))
      ->capture_default_str();
  app.add_option("--cache-type-k", flags.cache_type_k, "-ctk: type of the K cache (f32, f16, bf16, q8_0, q4_0, ...)")
      ->group("Models")
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--cache-type-v", flags.cache_type_v, "-ctv: type of the V cache")
      ->group("Models")
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--cache-type-k-small", flags.cache_type_k_small, "-ctks: of the small model (default: as -ctk)")
      ->group("Models")
      ->type_name("TYPE");
  app.add_option("--cache-type-v-small", flags.cache_type_v_small, "-ctvs: of the small model (default: as -ctv)")
      ->group("Models")
      ->type_name("TYPE");
  app.add_flag("--no-mmap", flags.no_mmap, "read the weights instead of mapping the files")->group("Models");
  app.add_flag("--mlock", flags.mlock, "keep the weights in memory")->group("Models");
  app.add_flag("--no-memory-check", flags.no_memory_check,
               "load even where the pair seems not to fit into the free memory")
      ->group("Models");
  app.add_flag("-v,--verbose", flags.verbose, "show llama.cpp's log on standard error")->group("Models");
}

Result<PairOptions> pair_options(const ModelFlags& flags) {
  PairOptions options;
  if (flags.bundled()) {
    auto folder = bundled_folder();
    if (!folder) return tl::unexpected(folder.error());
    options.large.path = *folder / "models/demo/relaygen-demo-large.gguf";
    options.small.path = *folder / "models/demo/relaygen-demo-small.gguf";
  } else if (flags.large.empty() || flags.small.empty()) {
    return fail(
        ErrorKind::usage,
        fmt::format("a pair needs two models, and the {} one is missing", flags.large.empty() ? "large" : "small"),
        flags.large.empty() ? "name it with -m FILE" : "name it with -ms FILE");
  } else {
    options.large.path = flags.large;
    options.small.path = flags.small;
  }
  options.large.gpu_layers = flags.gpu_layers;
  options.small.gpu_layers = flags.gpu_layers_small.value_or(flags.gpu_layers);
  options.large.cache_type_k = flags.cache_type_k;
  options.large.cache_type_v = flags.cache_type_v;
  options.small.cache_type_k = flags.cache_type_k_small.value_or(flags.cache_type_k);
  options.small.cache_type_v = flags.cache_type_v_small.value_or(flags.cache_type_v);
  options.threads = flags.threads;
  options.threads_batch = flags.threads_batch;
  options.context = flags.context;
  options.batch = flags.batch;
  options.micro_batch = flags.micro_batch;
  options.flash_attention = flash_attention(flags.flash_attention);
  options.use_mmap = !flags.no_mmap;
  options.use_mlock = flags.mlock;
  options.check_memory = !flags.no_memory_check;
  return options;
}

void add_generation_flags(CLI::App& app, GenerationFlags& flags) {
  app.add_option("--policy", flags.policy, fmt::format("who writes what: {}", fmt::join(policy_names(), ", ")))
      ->group("Relay")
      ->check(kPolicyName)
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--relay", flags.relay_at,
                 "where the large model hands over: at the profile's cues, after every token (with --verify), or so "
                 "wherever the small model's margin is high enough")
      ->group("Relay")
      ->check(CLI::IsMember({"cues", "always", "margin"}))
      ->capture_default_str();
  app.add_option("--verify", flags.verify,
                 "the large model checks what the small one wrote: off, typical (plausible tokens stand), strict (only "
                 "its own choices do: the text is what it alone would write)")
      ->group("Relay")
      ->check(CLI::IsMember({"off", "typical", "strict"}))
      ->capture_default_str();
  app.add_flag("--guard", flags.guard,
               "the small model hands back where its margin falls under the profile's threshold")
      ->group("Relay");
  app.add_flag("--no-draft", flags.no_draft, "do not guess the large model's tokens ahead")->group("Relay");
  flags.no_adapt = false;
  app.add_flag("--no-adapt", flags.no_adapt, "hand over also where measured costs say that it loses time here")
      ->group("Relay");
  add_relay_flags(app, flags);
  app.add_flag("--judge", flags.judge, "also tell the large model's mean log p of the small model's tokens")
      ->group("Relay");
  add_sampling_flags(app, flags);
}

void add_relay_flags(CLI::App& app, GenerationFlags& flags) {
  app.add_option("--profile", flags.profile, "the cues of this pair (with the bundled pair: its own)")
      ->group("Relay")
      ->type_name("FILE");
  app.add_option("--answer-by", flags.answer_by,
                 "who writes the answer (auto: the small model where the profile holds evidence for it)")
      ->group("Relay")
      ->check(CLI::IsMember({"small", "large", "auto"}))
      ->capture_default_str();
  app.add_option("--min-large-tokens", flags.min_large_tokens,
                 "a cue counts once the large model wrote this many tokens (default: the profile's, or 5)")
      ->group("Relay")
      ->type_name("N");
  app.add_option(
         "--max-small-tokens", flags.max_small_tokens,
         "longest segment of the small model (default: the profile's, or 64; verified everywhere: what pays here)")
      ->group("Relay")
      ->type_name("N");
  app.add_option("--random-rate", flags.random_rate, "chance of a handoff at a sentence start, for --policy random")
      ->group("Relay")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--guard-margin", flags.guard_margin, "the guard's threshold, 0 to 1 (default: the profile's)")
      ->group("Relay")
      ->type_name("X");
  app.add_option("--verify-epsilon", flags.epsilon,
                 "typical: p >= min(epsilon, delta exp(-entropy)) (default: the profile's, or 0.09)")
      ->group("Relay")
      ->type_name("X");
  app.add_option("--verify-delta", flags.delta, "likewise (default: the profile's, or 0.3)")
      ->group("Relay")
      ->type_name("X");
  app.add_option("--draft-by", flags.draft_by, "who guesses: lookup of n-grams, the small model, or both")
      ->group("Relay")
      ->check(CLI::IsMember({"all", "lookup", "small"}))
      ->capture_default_str();
  app.add_option("--draft-max,--draft-n", flags.draft_max, "longest draft; how long one is follows from what it costs")
      ->group("Relay")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_sampling_flags(CLI::App& app, GenerationFlags& flags) {
  app.add_option("--temp", flags.sampling.temperature, "temperature; 0 is greedy")
      ->group("Sampling")
      ->type_name("T")
      ->capture_default_str();
  app.add_option("--top-k", flags.sampling.top_k, "keep the K most likely tokens (0: all)")
      ->group("Sampling")
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--top-p", flags.sampling.top_p, "keep the smallest set with this probability (1: all)")
      ->group("Sampling")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--min-p", flags.sampling.min_p, "drop tokens less likely than this share of the most likely one")
      ->group("Sampling")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--repeat-penalty", flags.sampling.repeat_penalty, "1: off")
      ->group("Sampling")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--presence-penalty", flags.sampling.presence_penalty, "0: off")
      ->group("Sampling")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--frequency-penalty", flags.sampling.frequency_penalty, "0: off")
      ->group("Sampling")
      ->type_name("X")
      ->capture_default_str();
  app.add_option("--repeat-last-n", flags.sampling.penalty_last_n,
                 "how many of the last tokens the penalties see (-1: all)")
      ->group("Sampling")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-s,--seed", flags.seed, "the same seed gives the same text (-1: a random one)")
      ->group("Sampling")
      ->type_name("SEED")
      ->capture_default_str();
  app.add_option("-n,--predict,--n-predict", flags.budgets.total,
                 "most tokens, thinking and answer together (-1: what fits)")
      ->group("Budgets")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--thinking-budget,--reasoning-budget", flags.budgets.thinking,
                 "most thinking tokens; the closing tag is forced then")
      ->group("Budgets")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--answer-budget", flags.budgets.answer,
                 "most answer tokens, kept free for the answer (-1: a quarter of the room is kept free, 2048 at most)")
      ->group("Budgets")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--stop", flags.stop, "end the answer before this text (repeatable)")
      ->group("Budgets")
      ->type_name("TEXT")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--system-prompt", flags.system, "-sys: system prompt")->group("Prompt")->type_name("TEXT");
  app.add_flag("--no-thinking", flags.no_thinking, "ask the chat template to leave the thinking out")->group("Prompt");
}

Result<Profile> load_profile(const GenerationFlags& flags, bool bundled_pair) {
  if (!flags.profile.empty()) return read_profile(flags.profile);
  if (bundled_pair) {
    auto folder = bundled_folder();
    if (!folder) return tl::unexpected(folder.error());
    return read_profile(*folder / "profiles/demo.json");
  }
  if (uses_cues(flags.policy)) {
    return fail(ErrorKind::usage, fmt::format("--policy {} needs to know the safe cues of this pair", flags.policy),
                "give --profile FILE, for example profiles/qwen3-32b-1.7b.json for Qwen3 models");
  }
  return Profile{};
}

PolicyChoice policy_choice(const GenerationFlags& flags) {
  PolicyChoice choice;
  choice.name = flags.policy;
  choice.answer_by = flags.answer_by == "small"   ? AnswerBy::small
                     : flags.answer_by == "large" ? AnswerBy::large
                                                  : AnswerBy::automatic;
  choice.min_large_tokens = flags.min_large_tokens;
  choice.max_small_tokens = flags.max_small_tokens;
  choice.random_rate = flags.random_rate;
  choice.guard_margin = flags.guard_margin;
  choice.epsilon = flags.epsilon;
  choice.delta = flags.delta;
  choice.draft = {
      .lookup = flags.draft_by != "small", .small_model = flags.draft_by != "lookup", .most = flags.draft_max};
  return choice;
}

std::string whole_policy_name(const GenerationFlags& flags) {
  std::string policy = full_policy_name(flags.policy);
  if (flags.relay_at != "cues") policy += "+" + flags.relay_at;
  if (flags.verify != "off") policy += "+" + flags.verify;
  if (flags.guard) policy += "+guard";
  if (flags.no_draft) {
    if (const auto at = policy.find("+draft"); at != std::string::npos)
      policy.erase(at, std::string_view("+draft").size());
  } else if (policy != "small-only" && policy.find("+draft") == std::string::npos) {
    policy += "+draft";
  }
  return policy;
}

void add_policies_flag(CLI::App& app, std::vector<std::string>& policies) {
  app.add_option("--policies", policies, "who writes what; the first is the baseline")
      ->group("Relay")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(kPolicyName)
      ->capture_default_str();
}

std::string full_policy_name(std::string_view word) {
  const std::string_view base = word.substr(0, word.find('+'));
  if (base != "large" && base != "small") return std::string(word);
  return fmt::format("{}-only{}", base, word.substr(base.size()));
}

}  // namespace relaygen::cli
