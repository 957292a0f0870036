// The stages that need models. Each does what is missing in the store and nothing twice, so that a killed calibration
// goes on where it was.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibrate/proof.h"
#include "calibrate/store.h"
#include "calibrate/traces.h"
#include "relaygen/engine.h"

namespace relaygen::calibrate {

/// How far a stage is.
struct StageProgress {
  std::string stage{};  ///< for people: "writing traces"
  std::size_t done = 0, all = 0;
  double seconds_left = -1;  ///< from what was done in this run; negative: not known yet
};

struct StageContext {
  Engine* engine = nullptr;                                ///< never null
  const std::atomic<bool>* cancel = nullptr;               ///< never null
  std::function<void(const StageProgress&)> progress{};    ///< may be empty
  std::function<void(const std::string& sentence)> say{};  ///< likewise; something that a person should know
};

/// A problem as a request of this pair: its prompt rendered, sampling and budgets set.
using RequestOf = std::function<Result<Request>(const eval::Problem& problem)>;

/// One round: sample number `sample` of every problem. A problem that cannot be asked (its prompt is too long) is
/// skipped with a sentence. Errors: cancelled, those of the store and the engine.
[[nodiscard]] Status write_traces(Store& store, std::span<const eval::Problem> problems, std::uint32_t sample,
                                  std::uint64_t seed, const RequestOf& request_of, const StageContext& context);

/// Teacher-forces both models over the traces that lack it, the small one first. What does not fit the window is skipped
/// with a sentence. `small_only` where there is no large model to ask.
[[nodiscard]] Status judge_traces(Store& store, bool small_only, const StageContext& context);

/// Writes on at the places that lack it.
[[nodiscard]] Status write_proofs(Store& store, std::span<const ProofPlace> places, const ProofOptions& options,
                                  const StageContext& context);

/// Lets the small model answer behind the large model's thinking, for the first `most` finished traces of each problem.
[[nodiscard]] Status write_answers(Store& store, std::uint32_t most, const ProofOptions& options,
                                   const StageContext& context);

}  // namespace relaygen::calibrate
