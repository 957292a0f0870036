// Owning handles for llama.cpp objects.
#pragma once

#include <llama.h>

#include <memory>

namespace relaygen::engine {

struct ModelDeleter {
  void operator()(llama_model* model) const noexcept { llama_model_free(model); }
};
using ModelHandle = std::unique_ptr<llama_model, ModelDeleter>;

struct ContextDeleter {
  void operator()(llama_context* context) const noexcept { llama_free(context); }
};
using ContextHandle = std::unique_ptr<llama_context, ContextDeleter>;

/// A llama_batch for one sequence: every row belongs to sequence 0, positions and output flags are set by the caller.
class BatchHandle {
 public:
  explicit BatchHandle(std::int32_t rows) : batch_(llama_batch_init(rows, 0, 1)) {
    for (std::int32_t row = 0; row < rows; ++row) {
      batch_.n_seq_id[row] = 1;
      batch_.seq_id[row][0] = 0;
    }
  }
  ~BatchHandle() {
    if (batch_.token != nullptr) llama_batch_free(batch_);
  }
  BatchHandle(BatchHandle&& other) noexcept : batch_(other.batch_) { other.batch_ = llama_batch{}; }
  BatchHandle(const BatchHandle&) = delete;
  BatchHandle& operator=(const BatchHandle&) = delete;
  BatchHandle& operator=(BatchHandle&&) = delete;

  llama_batch& get() noexcept { return batch_; }

 private:
  llama_batch batch_;
};

}  // namespace relaygen::engine
