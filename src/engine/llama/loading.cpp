#include "engine/llama/loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/llama/backend.h"
#include "engine/llama/guard.h"
#include "engine/llama/log.h"
#include "engine/llama/machine.h"
#include "engine/llama/memory_breakdown.h"
#include "engine/llama/text.h"
#include "engine/llama/vocabulary.h"

namespace relaygen::engine {
namespace {

constexpr std::array<ggml_type, 9> kCacheTypes = {GGML_TYPE_F32,    GGML_TYPE_F16,  GGML_TYPE_BF16,
                                                  GGML_TYPE_Q8_0,   GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                                                  GGML_TYPE_IQ4_NL, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1};

std::optional<ggml_type> cache_type(const std::string& name) {
  for (const ggml_type type : kCacheTypes) {
    if (name == ggml_type_name(type)) return type;
  }
  return std::nullopt;
}

Status check_cache_types(const ModelOptions& model, FlashAttention flash_attention) {
  for (const std::string* name : {&model.cache_type_k, &model.cache_type_v}) {
    if (cache_type(*name)) continue;
    std::string valid;
    for (const ggml_type type : kCacheTypes) valid += (valid.empty() ? "" : ", ") + std::string(ggml_type_name(type));
    return fail(ErrorKind::usage, fmt::format("The cache type {} is not known", printable(*name)),
                "use one of " + valid);
  }
  if (flash_attention == FlashAttention::off && ggml_is_quantized(*cache_type(model.cache_type_v))) {
    return fail(ErrorKind::usage,
                fmt::format("A V cache of type {} needs flash attention, which is off", model.cache_type_v),
                "leave out -fa off, or use -ctv f16");
  }
  return {};
}

Status check_options(const PairOptions& options) {
  const auto at_least = [](std::int32_t value, std::int32_t least, const char* name) -> Status {
    if (value >= least) return {};
    return fail(ErrorKind::usage, fmt::format("{} is {}, it must be at least {}", name, value, least), "");
  };
  for (const Status& status :
       {at_least(options.threads, 0, "The number of threads (-t)"),
        at_least(options.threads_batch, 0, "The number of threads for batches (-tb)"),
        at_least(options.context, 0, "The context (-c)"), at_least(options.batch, 1, "The batch (-b)"),
        at_least(options.micro_batch, 1, "The micro-batch (-ub)"),
        at_least(options.output_rows, 1, "The number of rows with logits"),
        check_cache_types(options.large, options.flash_attention),
        check_cache_types(options.small, options.flash_attention)}) {
    if (!status) return status;
  }
  constexpr std::int32_t kMostTokens = 1 << 24;
  if (options.context > kMostTokens) {
    return fail(ErrorKind::usage, fmt::format("A context of {} tokens is beyond any model", options.context),
                fmt::format("give at most {} (-c)", kMostTokens));
  }
  constexpr std::int32_t kMostThreads = GGML_MAX_N_THREADS;
  if (std::max(options.threads, options.threads_batch) > kMostThreads) {
    return fail(ErrorKind::usage, fmt::format("More than {} threads cannot be used", kMostThreads),
                "give fewer (-t, -tb)");
  }
  return {};
}

/// Models this small are fastest on one thread: waking the others costs more than they do.
constexpr std::uint64_t kTinyPairBytes = 20'000'000;

void fill_defaults(LoadPlan& plan) {
  PairOptions& options = plan.options;
  if (options.threads == 0) {
    const bool tiny = plan.large.weight_bytes + plan.small.weight_bytes < kTinyPairBytes;
    options.threads = tiny ? 1 : std::min(usable_cores(), static_cast<std::int32_t>(GGML_MAX_N_THREADS));
  }
  if (options.threads_batch == 0) options.threads_batch = options.threads;

  std::int32_t trained = std::min(plan.large.training_window, plan.small.training_window);
  if (trained == 0) trained = std::max(plan.large.training_window, plan.small.training_window);
  constexpr std::int32_t kUnknownWindow = 4096;
  if (trained == 0) trained = kUnknownWindow;
  if (options.context == 0) options.context = trained;
  if (options.context > trained) {
    log_line(3, fmt::format("A context of {} tokens is more than the {} that the models were trained for",
                            options.context, trained));
  }
  options.batch = std::min(options.batch, options.context);
  options.micro_batch = std::min(options.micro_batch, options.batch);
  options.output_rows = std::min(options.output_rows, options.batch);
}

/// State of a load that llama.cpp's progress callback sees.
struct ProgressState {
  const LoadProgress* progress;
  Model which;
  bool cancelled = false;
};

bool report_progress(float fraction, void* user) noexcept {
  auto& state = *static_cast<ProgressState*>(user);
  try {
    state.cancelled = !(*state.progress)(state.which, fraction);
  } catch (...) {  // a progress bar that fails stops the load
    state.cancelled = true;
  }
  return !state.cancelled;
}

llama_load_mode load_mode(const PairOptions& options) {
  if (options.use_mmap) return options.use_mlock ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_AUTO;
  return options.use_mlock ? LLAMA_LOAD_MODE_MLOCK : LLAMA_LOAD_MODE_NONE;
}

bool says_out_of_memory(std::string_view reason) {
  return reason.find("alloc") != std::string_view::npos || reason.find("out of memory") != std::string_view::npos;
}

Status check_generates(const ModelHandle& model, const std::string& path) {
  const llama_model* loaded = model.get();
  if (llama_model_has_decoder(loaded) && !llama_model_has_encoder(loaded) && !llama_model_is_diffusion(loaded))
    return {};
  return fail(ErrorKind::bad_model,
              fmt::format("The model {} does not write text token by token", printable_path(path)),
              "give a decoder-only language model");
}

bool is_on_cpu(const ModelOptions& model) {
  if (model.gpu_layers == 0) return true;
  for (std::size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    const auto kind = ggml_backend_dev_type(ggml_backend_dev_get(i));
    if (kind == GGML_BACKEND_DEVICE_TYPE_GPU || kind == GGML_BACKEND_DEVICE_TYPE_IGPU) return false;
  }
  return true;
}

/// llama.cpp's automatic choice is flash attention wherever it exists. On CPUs its loop for batches of fewer than 64 rows,
/// which is all that generation has, takes 1.3 to 2.5 times as long as plain attention (docs/measurements.md).
void choose_attention(llama_context_params& params, FlashAttention wish, const ModelOptions& model) {
  params.flash_attn_type = wish == FlashAttention::on    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                           : wish == FlashAttention::off ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                         : LLAMA_FLASH_ATTN_TYPE_AUTO;
  if (wish != FlashAttention::automatic || ggml_is_quantized(params.type_v) || !is_on_cpu(model)) return;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  // Plain attention keeps the scores of all rows of a pass, and more rows do not make prompts faster here.
  constexpr std::uint32_t kMostRows = 128;
  params.n_ubatch = std::min(params.n_ubatch, kMostRows);
}

}  // namespace

Result<LoadPlan> make_plan(const PairOptions& options) {
  if (const Status status = check_options(options); !status) return tl::unexpected(status.error());
  LoadPlan plan{options, {}, {}};
  for (const Model which : {Model::large, Model::small}) {
    auto info = inspect_model_file(plan.model(which).path);
    if (!info) return tl::unexpected(info.error());
    (which == Model::large ? plan.large : plan.small) = std::move(*info);
  }
  fill_defaults(plan);
  return plan;
}

Result<ModelHandle> load_model(const LoadPlan& plan, Model which, LoadDepth depth, const LoadProgress& progress) {
  const ModelOptions& options = plan.model(which);
  ProgressState state{&progress, which};
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = options.gpu_layers;
  params.load_mode = depth == LoadDepth::weights ? load_mode(plan.options) : LLAMA_LOAD_MODE_NONE;
  params.no_alloc = depth == LoadDepth::layout;
  params.progress_callback = [](float, void*) { return true; };  // the default one prints dots
  if (depth == LoadDepth::weights && progress) {
    params.progress_callback = &report_progress;
    params.progress_callback_user_data = &state;
  }
  const ErrorCapture errors;
  ModelHandle model(llama_model_load_from_file(options.path.c_str(), params));
  if (model) {
    if (const Status status = check_generates(model, options.path); !status) return tl::unexpected(status.error());
    return model;
  }
  if (state.cancelled) {
    return fail(ErrorKind::cancelled, fmt::format("Loading the {} model was cancelled", name(which)));
  }
  const std::string reason = errors.reason();
  if (says_out_of_memory(reason)) {
    return fail(
        ErrorKind::out_of_memory,
        fmt::format("The {} model {} does not fit in memory: {}", name(which), printable_path(options.path), reason),
        "use a smaller quantisation, or place fewer layers on the GPU (-ngl)");
  }
  return fail(ErrorKind::bad_model,
              fmt::format("The {} model {} cannot be loaded: {}", name(which), printable_path(options.path),
                          reason.empty() ? "llama.cpp gives no reason" : reason),
              fmt::format("use a model that llama.cpp {} supports", llama_version()));
}

Result<ContextHandle> make_context(const LoadPlan& plan, Model which, llama_model* model) {
  const PairOptions& options = plan.options;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(options.context);
  params.n_batch = static_cast<std::uint32_t>(options.batch);
  params.n_ubatch = static_cast<std::uint32_t>(options.micro_batch);
  params.n_seq_max = 1;
  params.n_outputs_max = static_cast<std::uint32_t>(options.output_rows);
  params.n_outputs_max_per_seq = params.n_outputs_max;
  params.n_threads = options.threads;
  params.n_threads_batch = options.threads_batch;
  params.type_k = *cache_type(plan.model(which).cache_type_k);
  params.type_v = *cache_type(plan.model(which).cache_type_v);
  choose_attention(params, options.flash_attention, plan.model(which));
  params.no_perf = true;
  params.swa_full = true;     // a sliding window would drop cells that a cut needs again
  params.kv_unified = false;  // the same for one sequence, and unified each decode would go through 256 x 256 of them
  const ErrorCapture errors;
  ContextHandle context(llama_init_from_model(model, params));
  if (context) return context;
  const std::string reason = errors.reason();
  if (reason.find("cache type") != std::string::npos || reason.find("V cache") != std::string::npos) {
    return fail(ErrorKind::usage, fmt::format("The {} model cannot use these cache types: {}", name(which), reason),
                "use -ctk f16 -ctv f16");
  }
  return fail(ErrorKind::out_of_memory,
              fmt::format("The {} model's context of {} tokens cannot be made: {}", name(which), options.context,
                          reason.empty() ? "llama.cpp gives no reason" : reason),
              "use a shorter context (-c) or a smaller cache type (-ctk q8_0)");
}

MemoryUse memory_use(const llama_context* context) {
  MemoryUse use;
  for (const auto& [type, bytes] : llama_get_memory_breakdown(context)) {
    use.all.weights += bytes.model;
    use.all.cache += bytes.context;
    use.all.compute += bytes.compute;
    ggml_backend_dev_t device = ggml_backend_buft_is_host(type) ? nullptr : ggml_backend_buft_get_device(type);
    if (device != nullptr) {
      const auto kind = ggml_backend_dev_type(device);
      if (kind == GGML_BACKEND_DEVICE_TYPE_CPU || kind == GGML_BACKEND_DEVICE_TYPE_ACCEL) device = nullptr;
    }
    use.by_device[device] += bytes.model + bytes.context + bytes.compute;
  }
  return use;
}

Result<PairMemoryUse> estimate(const LoadPlan& plan) {
  auto large = load_model(plan, Model::large, LoadDepth::layout);
  if (!large) return tl::unexpected(large.error());
  auto small = load_model(plan, Model::small, LoadDepth::layout);
  if (!small) return tl::unexpected(small.error());
  const auto shared = shared_vocabulary(llama_model_get_vocab(large->get()), llama_model_get_vocab(small->get()));
  if (!shared) return tl::unexpected(shared.error());
  PairMemoryUse use;
  for (const Model which : {Model::large, Model::small}) {
    auto context = make_context(plan, which, which == Model::large ? large->get() : small->get());
    if (!context) return tl::unexpected(context.error());
    (which == Model::large ? use.large : use.small) = memory_use(context->get());
  }
  return use;
}

Status check_fit(const PairMemoryUse& use, std::uint64_t available) {
  std::map<ggml_backend_dev_t, std::uint64_t> need = use.large.by_device;
  for (const auto& [device, bytes] : use.small.by_device) need[device] += bytes;
  for (const auto& [device, bytes] : need) {
    std::size_t free = available, total = 0;
    if (device != nullptr) ggml_backend_dev_memory(device, &free, &total);
    if (free == 0 || bytes <= free) continue;  // 0: unknown
    if (device == nullptr) {
      return fail(ErrorKind::out_of_memory,
                  fmt::format("The pair needs {} of memory, {} are free", human_bytes(bytes), human_bytes(free)),
                  "use a smaller quantisation, a shorter -c or -ctk q8_0");
    }
    return fail(ErrorKind::out_of_memory,
                fmt::format("The pair needs {} on {}, {} are free there", human_bytes(bytes),
                            ggml_backend_dev_description(device), human_bytes(free)),
                "place fewer layers on the GPU (-ngl, -ngls), or use a smaller quantisation or a shorter -c");
  }
  return {};
}

}  // namespace relaygen::engine

namespace relaygen {

Result<PairMemory> estimate_memory(const PairOptions& options) {
  using namespace engine;
  return guarded("estimating the memory of a pair", [&]() -> Result<PairMemory> {
    if (const Status status = load_backends(); !status) return tl::unexpected(status.error());
    const auto plan = make_plan(options);
    if (!plan) return tl::unexpected(plan.error());
    const auto use = estimate(*plan);
    if (!use) return tl::unexpected(use.error());
    return PairMemory{use->large.all, use->small.all, available_memory()};
  });
}

}  // namespace relaygen
