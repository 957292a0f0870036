#include "engine/llama/backend.h"

#include <dlfcn.h>
#include <llama.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

#include "engine/llama/log.h"

namespace relaygen::engine {
namespace {

/// The folder of the shared object (or program) that holds ggml's back-end registry; empty if unknown.
std::string folder_of_ggml() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<const void*>(&ggml_backend_load_all_from_path), &where) == 0 ||
      where.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(where.dli_fname, error);
  return error ? std::string() : file.parent_path().string();
}

bool has_cpu() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) != nullptr; }

}  // namespace

Status load_backends() {
  // A static build registers its back ends by itself; loading again would register them twice.
  static std::mutex mutex;
  static std::string tried;
  const std::lock_guard lock(mutex);
  take_over_log();
  static const bool initialised = (llama_backend_init(), true);
  static_cast<void>(initialised);
  if (!has_cpu() && tried.empty()) {
    const char* chosen = std::getenv("RELAYGEN_LLAMA_DIR");
    tried = chosen != nullptr && *chosen != '\0' ? chosen : folder_of_ggml();
    ggml_backend_load_all_from_path(tried.empty() ? nullptr : tried.c_str());
  }
  if (has_cpu()) return {};
  std::string folder = std::move(tried);
  tried.clear();  // another folder may be given for the next try
  return fail(ErrorKind::internal,
              "No CPU library of llama.cpp was found in " + (folder.empty() ? "its own folder" : "\"" + folder + "\""),
              "set RELAYGEN_LLAMA_DIR to the folder that holds libggml-cpu-*.so, or build llama.cpp from source "
              "(-DRELAYGEN_LLAMA=source)");
}

ThreadPool::ThreadPool(int threads) {
  // The pool's functions live in the CPU library, which may have been opened at run time.
  ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  ggml_backend_reg_t cpu = device != nullptr ? ggml_backend_dev_backend_reg(device) : nullptr;
  if (cpu == nullptr) return;
  const auto make =
      reinterpret_cast<decltype(&ggml_threadpool_new)>(ggml_backend_reg_get_proc_address(cpu, "ggml_threadpool_new"));
  const auto free = reinterpret_cast<Free>(ggml_backend_reg_get_proc_address(cpu, "ggml_threadpool_free"));
  if (make == nullptr || free == nullptr) return;
  ggml_threadpool_params params = ggml_threadpool_params_default(threads);
  pool_ = {make(&params), free};
}

}  // namespace relaygen::engine
