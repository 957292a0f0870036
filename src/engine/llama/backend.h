// llama.cpp's computing back ends and the thread pool that both models share.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpu.h>

#include <memory>

#include "relaygen/error.h"

namespace relaygen::engine {

/// Makes the back ends known to llama.cpp, once a process; must come before any model is loaded. A build whose CPU
/// code is a set of shared libraries (one a micro-architecture) finds them beside the shared object that holds ggml,
/// or in the folder that the environment variable RELAYGEN_LLAMA_DIR names. Thread-safe.
[[nodiscard]] Status load_backends();

/// The threads of both contexts. Empty where the CPU back end offers no thread pools: llama.cpp then makes its own.
class ThreadPool {
 public:
  ThreadPool() = default;
  explicit ThreadPool(int threads);
  [[nodiscard]] ggml_threadpool* get() const noexcept { return pool_.get(); }

 private:
  using Free = void (*)(ggml_threadpool*);
  static void free_nothing(ggml_threadpool*) {}
  std::unique_ptr<ggml_threadpool, Free> pool_{nullptr, &free_nothing};
};

}  // namespace relaygen::engine
