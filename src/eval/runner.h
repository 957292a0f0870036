// Getting the missing outputs written, in a fair order, each stored at once.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eval/store.h"

namespace relaygen::eval {

/// What came of asking for one output: an output, or an error.
struct Written {
  std::optional<Output> output{};
  std::optional<Error> error{};
  std::uint32_t attempts = 1;
  bool server_failed = false;  ///< with an error: it says something about the server, not about this problem
};

/// Whoever writes the outputs of one policy.
class Writer {
 public:
  virtual ~Writer() = default;
  /// Writes one text. Returns soon after `cancel` is set, with an error of kind cancelled.
  [[nodiscard]] virtual Written write(const StoredProblem& problem, std::uint64_t seed,
                                      const std::atomic<bool>& cancel) = 0;
};

struct Competitor {
  std::string name{};
  std::unique_ptr<Writer> writer{};
};

/// All outputs in the order in which they are to be written: problem by problem and sample by sample all policies in
/// turn, with another one first each time. What makes a machine slow for a while then hits all policies alike.
[[nodiscard]] std::vector<OutputKey> schedule(const std::vector<std::string>& policies,
                                              const std::vector<StoredProblem>& problems, std::uint32_t samples);

struct Progress {
  std::size_t done = 0, all = 0;  ///< outputs, those of earlier runs included
  std::string policy{};           ///< that is writing now
  double seconds_left = -1;       ///< estimated from the outputs of this run; negative: not known yet
};

struct RunnerOptions {
  std::uint64_t seed = 0;
  std::uint32_t samples = 1;
  std::uint32_t failures_in_a_row = 5;  ///< after so many of its server a row is given up for this run
  std::function<void(const Progress&)> progress{};
  std::function<void(const std::string& sentence)> say{};  ///< something that a person should know at once
  const std::atomic<bool>* cancel = nullptr;               ///< never null
};

/// Writes what is missing, what failed before at the end. An error of one output is recorded and the run goes on. Returns false if it was cancelled.
/// Errors: those of the store; what was stored before stays.
[[nodiscard]] Result<bool> write_missing(Store& store, const std::vector<StoredProblem>& problems,
                                         std::vector<Competitor>& competitors, const RunnerOptions& options);

}  // namespace relaygen::eval
