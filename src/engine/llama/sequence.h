// One model's context with its one sequence: what is cached, and how it grows and shrinks.
#pragma once

#include <llama.h>

#include <atomic>
#include <span>

#include "engine/llama/handles.h"
#include "relaygen/engine.h"

namespace relaygen::engine {

/// llama.cpp's memory is the authority for what is cached; cached() is a copy that is read back after every failure.
class Sequence {
 public:
  /// `threads` may be null (llama.cpp then makes its own) and must outlive this, as must the model and `stop`.
  /// `shared` is the width of a row of logits, `window` the most tokens that will be cached,
  /// `output_rows` the most rows of one decode that give logits.
  Sequence(ContextHandle context, ggml_threadpool* threads, const std::atomic<bool>& stop, std::int32_t shared,
           std::int32_t window, std::int32_t output_rows);
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  /// Finds out, by decoding two tokens and cutting one, whether this cache can be cut; also loads what is read on
  /// demand. Leaves the cache empty. Errors as decode().
  [[nodiscard]] Status classify();

  [[nodiscard]] bool can_cut() const noexcept { return can_cut_; }
  [[nodiscard]] std::int32_t cached() const noexcept { return cached_; }
  [[nodiscard]] std::int32_t window() const noexcept { return window_; }
  [[nodiscard]] std::int32_t batch() const noexcept { return static_cast<std::int32_t>(llama_n_batch(context_.get())); }
  [[nodiscard]] const llama_context* context() const noexcept { return context_.get(); }

  /// As Engine::truncate.
  std::int32_t truncate(std::int32_t length);
  /// As Engine::decode.
  [[nodiscard]] Result<LogitRows> decode(std::span<const TokenId> tokens, std::int32_t output_rows);

 private:
  [[nodiscard]] Status check(std::span<const TokenId> tokens, std::int32_t output_rows) const;
  [[nodiscard]] std::int32_t call_decode(const llama_batch& batch);
  [[nodiscard]] tl::unexpected<Error> failed(std::int32_t code);
  void clear();
  void read_back();

  ContextHandle context_;
  llama_memory_t memory_;  // owned by the context
  BatchHandle batch_;
  std::int32_t shared_;
  std::int32_t output_rows_;
  std::int32_t window_;
  std::vector<std::span<const float>> rows_;  // of the last decode
  std::int32_t cached_ = 0;
  bool can_cut_ = true;
  bool broken_ = false;  // something was thrown out of llama_decode
};

}  // namespace relaygen::engine
