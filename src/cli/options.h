// The flags that several commands share, under the names that llama.cpp users know.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "relaygen/pair.h"
#include "relaygen/policies.h"
#include "relaygen/relay.h"

namespace relaygen::cli {

/// CLI11 knows "-m" and "--model", llama.cpp also "-ngl": replaces the latter kind by its long form.
[[nodiscard]] std::vector<std::string> expand_short_flags(int argc, const char* const* argv);

struct ModelFlags {
  std::string large, small;  ///< empty: the bundled pair
  std::int32_t gpu_layers = -1;
  std::optional<std::int32_t> gpu_layers_small;
  std::int32_t threads = 0, threads_batch = 0, context = 0, batch = 2048, micro_batch = 512;
  std::string flash_attention = "auto";
  std::string cache_type_k = "f16", cache_type_v = "f16";
  std::optional<std::string> cache_type_k_small, cache_type_v_small;
  bool no_mmap = false, mlock = false, no_memory_check = false, verbose = false;

  [[nodiscard]] bool bundled() const { return large.empty() && small.empty(); }
};

void add_model_flags(CLI::App& app, ModelFlags& flags);

/// Errors: usage (only one of two models given), bad_model (the bundled pair is not where it should be).
[[nodiscard]] Result<PairOptions> pair_options(const ModelFlags& flags);

struct GenerationFlags {
  std::string policy = "relay", profile, answer_by = "auto";
  std::optional<std::uint32_t> min_large_tokens, max_small_tokens;
  double random_rate = 0.3;
  std::string verify = "off", relay_at = "cues", draft_by = "all";
  bool guard = false, no_draft = false, no_adapt = true;  ///< only `run` and `chat` adapt
  std::optional<double> guard_margin, epsilon, delta;
  std::uint32_t draft_max = 15;
  SamplingOptions sampling;
  std::int64_t seed = -1;
  Budgets budgets;
  std::vector<std::string> stop;
  std::string system;
  bool no_thinking = false, judge = false;
};

/// All of them; the second adds what shapes a policy, the third sampling, budgets and prompt, both without --policy.
void add_generation_flags(CLI::App& app, GenerationFlags& flags);
void add_relay_flags(CLI::App& app, GenerationFlags& flags);
void add_sampling_flags(CLI::App& app, GenerationFlags& flags);

/// The profile of the flags: the file named, the bundled pair's own, or an error saying that one is needed.
/// `policy` needs cues or not.
[[nodiscard]] Result<Profile> load_profile(const GenerationFlags& flags, bool bundled_pair);

[[nodiscard]] PolicyChoice policy_choice(const GenerationFlags& flags);

/// --policy with what the other flags of add_generation_flags add to it: "relay+typical+draft".
[[nodiscard]] std::string whole_policy_name(const GenerationFlags& flags);

/// --policies as a list of words, the first of which is the baseline.
void add_policies_flag(CLI::App& app, std::vector<std::string>& policies);

/// What names a policy in a list of them: its name, or "large" and "small" for large-only and small-only, with modifiers.
[[nodiscard]] std::string full_policy_name(std::string_view word);

}  // namespace relaygen::cli
