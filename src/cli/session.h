// A loaded pair with its profile and policy, as the flags ask for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/replay.h"
#include "cli/options.h"

namespace relaygen::cli {

struct Session {
  std::unique_ptr<Pair> pair;
  Profile profile;
  PreparedPolicy prepared;
  std::optional<CostModel> costs;  ///< where the policy wants them
  std::uint64_t seed = 0;
  bool adapted = false;  ///< handoffs are left, because they would lose time here
};

/// Loads everything, with a progress bar on standard error; warns there about a profile of another pair.
[[nodiscard]] Result<Session> open_session(const ModelFlags& models, const GenerationFlags& generation);

/// Loads the pair alone.
[[nodiscard]] Result<std::unique_ptr<Pair>> load_pair(const ModelFlags& models);
[[nodiscard]] Result<std::unique_ptr<Pair>> load_pair(const PairOptions& options, bool verbose);

/// Before anything is loaded. Errors: usage (a flag that means nothing for any of these policies).
[[nodiscard]] Status check_settings(std::span<const std::string> words, const GenerationFlags& flags);

/// The named policies of a list, with the flags' settings. Errors: those of check_settings and prepare_policy.
[[nodiscard]] Result<std::vector<bench::NamedPolicy>> prepare_policies(std::span<const std::string> words,
                                                                       const GenerationFlags& flags,
                                                                       const Profile& profile);

/// Errors: usage (the policy verifies and a model cannot take tokens back).
[[nodiscard]] Status check_engine(const Policy& policy, const Engine& engine);

/// Whether what batches cost matters to the policy.
[[nodiscard]] bool wants_costs(const Policy& policy);

/// Whether the flags leave to this machine how long segments get: where the small model is tried everywhere and verified.
[[nodiscard]] bool is_left_to_costs(const Policy& policy, const GenerationFlags& flags);

/// Then sets it.
void fit_to_costs(Policy& policy, const GenerationFlags& flags, const CostModel& costs);

/// The policy of a list for which a session has to be opened: one that needs a profile, if any does.
[[nodiscard]] std::string policy_to_load(std::span<const std::string> words);

/// Renders the messages into a request of the session's policy. Errors: bad_input, too_long.
[[nodiscard]] Result<Request> make_request(const Session& session, const GenerationFlags& flags,
                                           std::span<const ChatMessage> messages);

/// The same for any policy of a pair; the seed stays at 0.
[[nodiscard]] Result<Request> make_request(const Pair& pair, const PreparedPolicy& prepared,
                                           const GenerationFlags& flags, std::span<const ChatMessage> messages);

/// Warns on standard error of what looks wrong about the pair, and of a profile that was made for another one. The
/// profile may be null.
void warn_of_doubts(const PairInfo& info, const Profile* profile);

/// "relaygen: message" and the hint on standard error.
void print_error(const Error& error);
void print_warning(std::string_view message);

}  // namespace relaygen::cli
