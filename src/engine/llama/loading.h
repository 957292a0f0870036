// From options to llama.cpp's models and contexts, and what they take.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/llama/handles.h"
#include "relaygen/error.h"
#include "relaygen/pair.h"

namespace relaygen::engine {

/// A copy of the options with every default filled in, and what inspection told about the files.
struct LoadPlan {
  PairOptions
      options;  ///< threads, threads_batch and context are above 0; batch, micro_batch and output_rows fit the context
  ModelFileInfo large, small;
  [[nodiscard]] const ModelOptions& model(Model which) const {
    return which == Model::large ? options.large : options.small;
  }
  [[nodiscard]] const ModelFileInfo& file(Model which) const { return which == Model::large ? large : small; }
};

/// Checks the options and both files. Errors: usage, bad_model.
[[nodiscard]] Result<LoadPlan> make_plan(const PairOptions& options);

enum class LoadDepth : std::uint8_t {
  layout,  ///< everything but the weights: tells the vocabulary, and how much memory the rest would take
  weights,
};

/// Loads one model. Errors: bad_model, cancelled.
[[nodiscard]] Result<ModelHandle> load_model(const LoadPlan& plan, Model which, LoadDepth depth,
                                             const LoadProgress& progress = {});

/// Makes the context of one model. Errors: usage (a cache type that the model cannot take), out_of_memory.
[[nodiscard]] Result<ContextHandle> make_context(const LoadPlan& plan, Model which, llama_model* model);

/// What a context and its model take, in all and by device (host memory under nullptr).
struct MemoryUse {
  MemoryEstimate all;
  std::map<ggml_backend_dev_t, std::uint64_t> by_device;
};
[[nodiscard]] MemoryUse memory_use(const llama_context* context);

struct PairMemoryUse {
  MemoryUse large, small;
};

/// What both models would take, read without their weights. Errors: as Pair::load, pair_mismatch included.
[[nodiscard]] Result<PairMemoryUse> estimate(const LoadPlan& plan);

/// out_of_memory where the pair needs more than the machine or one of its devices has free.
[[nodiscard]] Status check_fit(const PairMemoryUse& use, std::uint64_t available);

}  // namespace relaygen::engine
