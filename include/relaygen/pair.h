// A pair of GGUF models on llama.cpp: loading, checking, decoding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/engine.h"
#include "relaygen/error.h"
#include "relaygen/phase.h"

namespace relaygen {

/// How to load one model. Names follow llama.cpp's flags.
struct ModelOptions {
  std::string path;                  ///< GGUF file (the first part of a split one)
  std::int32_t gpu_layers = -1;      ///< -ngl: layers on the GPU; -1: all that the build can place there
  std::string cache_type_k = "f16";  ///< -ctk: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1
  std::string cache_type_v = "f16";  ///< -ctv; a quantised one needs flash attention
};

/// automatic: on where a GPU takes part or the V cache is quantised, off on CPUs, where it is slower.
enum class FlashAttention : std::uint8_t { automatic, on, off };

struct PairOptions {
  ModelOptions large;
  ModelOptions small;
  std::int32_t threads = 0;        ///< -t; 0: physical cores, or 1 where both models are tiny
  std::int32_t threads_batch = 0;  ///< -tb; 0: as threads
  std::int32_t context = 0;        ///< -c; 0: the smaller of the two training windows
  std::int32_t batch = 2048;       ///< -b
  std::int32_t micro_batch = 512;  ///< -ub; 128 at most where `automatic` turns flash attention off
  std::int32_t output_rows = 64;   ///< rows of one decode that may give logits; each takes 4 bytes a token id and model
  FlashAttention flash_attention = FlashAttention::automatic;
  bool use_mmap = true;      ///< --no-mmap
  bool use_mlock = false;    ///< --mlock
  bool check_memory = true;  ///< refuse a pair that will not fit before loading it
};

/// Called while loading, fraction in [0, 1] of this model; return false to cancel.
using LoadProgress = std::function<bool(Model model, float fraction)>;

/// One line of the engine's own log (llama.cpp). level: 1 debug, 2 info, 3 warning, 4 error.
using LogSink = std::function<void(int level, std::string_view line)>;

/// What a GGUF file says about itself, read without its weights.
struct ModelFileInfo {
  std::string path;
  std::string name;  ///< general.name, or the file's name
  std::string architecture;
  std::uint64_t file_bytes = 0;      ///< all parts together
  std::uint64_t weight_bytes = 0;    ///< of all tensors
  std::int32_t training_window = 0;  ///< tokens
};

/// Checks that a file is a complete GGUF model and describes it. Errors: bad_model with what is wrong (missing, a
/// folder, empty, not GGUF, truncated, a version that cannot be read).
[[nodiscard]] Result<ModelFileInfo> inspect_model_file(const std::string& path);

/// Bytes of memory.
struct MemoryEstimate {
  std::uint64_t weights = 0;
  std::uint64_t cache = 0;
  std::uint64_t compute = 0;
  [[nodiscard]] std::uint64_t total() const noexcept { return weights + cache + compute; }
};

/// Facts about the loaded pair that decide what can be done with it.
struct PairInfo {
  struct One {
    std::string name;
    std::string description;  ///< e.g. "qwen3 0.6B Q4_0"
    std::int32_t training_window = 0;
    std::int32_t vocabulary_size = 0;  ///< of this model, padding included
    std::string vocabulary_hash;       ///< 16 hex digits over the shared token texts and kinds
    bool can_cut_cache = true;  ///< tokens can be removed from the end of the cache (needed to verify, not to relay)
    bool has_chat_template = false;
    MemoryEstimate memory;
  };
  One large, small;
  std::int32_t window = 0;  ///< tokens usable in this pair
  std::int32_t threads = 0;
  std::string engine;  ///< which llama.cpp, and which instructions and back ends it was built for
  bool same_chat_template = true;
};

/// A rendered prompt.
struct ChatPrompt {
  std::string text;
  std::vector<TokenId> tokens;
  ThinkingTags tags;                                 ///< ends empty: this model does not think
  PromptState state = PromptState::before_thinking;  ///< whether the template opened the tag already
};

struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant", ...
  std::string content;
};

/// A loaded pair: the engine plus tokenizer and chat template. Owns models, contexts and threads.
/// Not thread-safe, except request_stop().
class Pair : public Engine {
 public:
  /// Loads both models. Errors: bad_model, pair_mismatch (the first differing token is named), out_of_memory,
  /// cancelled (by progress). The log sink receives llama.cpp's messages for as long as the process lives; pass {} to
  /// silence it.
  [[nodiscard]] static Result<std::unique_ptr<Pair>> load(const PairOptions& options, const LoadProgress& progress = {},
                                                          LogSink log = {});

  [[nodiscard]] virtual const PairInfo& info() const noexcept = 0;

  /// Renders messages with the large model's chat template and tokenizes them.
  /// Errors: bad_input (not UTF-8, no messages, the template refuses the messages).
  [[nodiscard]] virtual Result<ChatPrompt> render(std::span<const ChatMessage> messages,
                                                  bool enable_thinking) const = 0;

  /// Aborts a decode in progress as soon as the back end allows and makes later ones fail with `cancelled` until
  /// clear_stop(). Callable from any thread and from signal handlers.
  virtual void request_stop() noexcept = 0;
  virtual void clear_stop() noexcept = 0;
};

/// Memory that a pair would take, without loading its weights. Errors as Pair::load.
struct PairMemory {
  MemoryEstimate large, small;
  std::uint64_t available = 0;  ///< free memory of the machine, bytes; 0: unknown
};
[[nodiscard]] Result<PairMemory> estimate_memory(const PairOptions& options);

}  // namespace relaygen
