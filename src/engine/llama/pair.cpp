// A pair of models: two contexts on the same threads, one sequence each.
#include "relaygen/pair.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/llama/backend.h"
#include "engine/llama/chat.h"
#include "engine/llama/guard.h"
#include "engine/llama/loading.h"
#include "engine/llama/log.h"
#include "engine/llama/machine.h"
#include "engine/llama/sequence.h"
#include "engine/llama/vocabulary.h"

namespace relaygen {
namespace {

using namespace engine;

class LlamaPair final : public Pair {
 public:
  /// Everything that a pair owns, in the order in which it must be made; destroyed in reverse.
  struct Parts {
    ModelHandle large_model, small_model;
    ThreadPool threads;
    std::unique_ptr<std::atomic<bool>> stop = std::make_unique<std::atomic<bool>>(false);
    std::unique_ptr<Sequence> large, small;
    std::unique_ptr<LlamaVocabulary> vocabulary;
    std::optional<ChatTemplate> chat;
    PairInfo info;
    EngineLimits limits;
  };

  explicit LlamaPair(Parts parts) : parts_(std::move(parts)) {}

  const Vocabulary& vocabulary() const noexcept override { return *parts_.vocabulary; }
  EngineLimits limits() const noexcept override { return parts_.limits; }
  const PairInfo& info() const noexcept override { return parts_.info; }

  std::int32_t cached(Model model) const noexcept override { return sequence(model).cached(); }

  std::int32_t truncate(Model model, std::int32_t length) override { return sequence(model).truncate(length); }

  Result<LogitRows> decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) override {
    return guarded("decoding", [&]() -> Result<LogitRows> {
      if (parts_.stop->load(std::memory_order_relaxed)) return fail(ErrorKind::cancelled, "The generation was stopped");
      return sequence(model).decode(tokens, output_rows);
    });
  }

  Result<ChatPrompt> render(std::span<const ChatMessage> messages, bool enable_thinking) const override {
    return guarded("rendering a chat", [&]() -> Result<ChatPrompt> {
      auto chat = parts_.chat->render(messages, enable_thinking);
      if (!chat) return tl::unexpected(chat.error());
      ChatPrompt prompt;
      prompt.text = std::move(chat->text);
      prompt.tags = std::move(chat->tags);
      prompt.state = prompt_state(prompt.tags, chat->generation_prompt);
      add_begin_of_text(prompt.text);
      auto tokens = parts_.vocabulary->tokenize(prompt.text);
      if (!tokens) return tl::unexpected(tokens.error());
      prompt.tokens = std::move(*tokens);
      return prompt;
    });
  }

  void request_stop() noexcept override { parts_.stop->store(true, std::memory_order_relaxed); }
  void clear_stop() noexcept override { parts_.stop->store(false, std::memory_order_relaxed); }

 private:
  Sequence& sequence(Model model) noexcept { return model == Model::large ? *parts_.large : *parts_.small; }
  const Sequence& sequence(Model model) const noexcept { return model == Model::large ? *parts_.large : *parts_.small; }

  /// llama.cpp takes the begin-of-text token out of a rendered template where tokenizing would add it.
  void add_begin_of_text(std::string& text) const {
    const llama_vocab* vocab = llama_model_get_vocab(parts_.large_model.get());
    if (!llama_vocab_get_add_bos(vocab)) return;
    const std::string_view begin = parts_.vocabulary->piece(llama_vocab_bos(vocab));
    if (!text.starts_with(begin)) text.insert(0, begin);
  }

  Parts parts_;
};

// A signal handler may only touch lock-free atomics.
static_assert(std::atomic<bool>::is_always_lock_free);

PairInfo::One describe(const ModelFileInfo& file, const llama_model* model, const Sequence& sequence,
                       std::int32_t shared) {
  PairInfo::One one;
  one.name = file.name;
  std::string description(256, '\0');
  const std::int32_t length = llama_model_desc(model, description.data(), description.size());
  description.resize(static_cast<std::size_t>(std::clamp<std::int32_t>(length, 0, 255)));
  one.description = std::move(description);
  one.training_window = llama_model_n_ctx_train(model);
  one.vocabulary_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
  one.vocabulary_hash = vocabulary_hash(llama_model_get_vocab(model), shared);
  one.can_cut_cache = sequence.can_cut();
  one.has_chat_template = llama_model_chat_template(model, nullptr) != nullptr;
  one.memory = memory_use(sequence.context()).all;
  return one;
}

bool same_template(const llama_model* large, const llama_model* small) {
  const char* a = llama_model_chat_template(large, nullptr);
  const char* b = llama_model_chat_template(small, nullptr);
  return a == b || (a != nullptr && b != nullptr && std::string_view(a) == b);
}

/// The context of one model, with its first decode done.
Result<std::unique_ptr<Sequence>> make_sequence(const LoadPlan& plan, Model which, const LlamaPair::Parts& parts,
                                                std::int32_t shared, std::int32_t window) {
  llama_model* model = which == Model::large ? parts.large_model.get() : parts.small_model.get();
  auto context = make_context(plan, which, model);
  if (!context) return tl::unexpected(context.error());
  auto sequence = std::make_unique<Sequence>(std::move(*context), parts.threads.get(), *parts.stop, shared, window,
                                             plan.options.output_rows);
  if (const Status status = sequence->classify(); !status) {
    Error error = status.error();
    error.message = fmt::format("The first decode of the {} model failed: {}", name(which), error.message);
    return tl::unexpected(std::move(error));
  }
  return sequence;
}

Result<std::unique_ptr<Pair>> load_pair(const PairOptions& options, const LoadProgress& progress) {
  if (const Status status = load_backends(); !status) return tl::unexpected(status.error());
  const auto plan = make_plan(options);
  if (!plan) return tl::unexpected(plan.error());
  std::optional<PairMemoryUse> expected;
  if (options.check_memory) {
    auto use = estimate(*plan);  // also compares the vocabularies, before gigabytes of weights are read
    if (!use) return tl::unexpected(use.error());
    if (const Status status = check_fit(*use, available_memory()); !status) return tl::unexpected(status.error());
    expected = std::move(*use);
  }

  LlamaPair::Parts parts;
  for (const Model which : {Model::large, Model::small}) {
    auto model = load_model(*plan, which, LoadDepth::weights, progress);
    if (!model) return tl::unexpected(model.error());
    (which == Model::large ? parts.large_model : parts.small_model) = std::move(*model);
  }
  const llama_vocab* vocab = llama_model_get_vocab(parts.large_model.get());
  const auto shared = shared_vocabulary(vocab, llama_model_get_vocab(parts.small_model.get()));
  if (!shared) return tl::unexpected(shared.error());
  parts.vocabulary = std::make_unique<LlamaVocabulary>(vocab, *shared);
  parts.threads = ThreadPool(std::max(plan->options.threads, plan->options.threads_batch));

  const std::int32_t window = plan->options.context;
  for (const Model which : {Model::large, Model::small}) {
    auto sequence = make_sequence(*plan, which, parts, *shared, window);
    if (!sequence) return tl::unexpected(sequence.error());
    (which == Model::large ? parts.large : parts.small) = std::move(*sequence);
  }
  auto chat = ChatTemplate::load(parts.large_model.get());
  if (!chat) return tl::unexpected(chat.error());
  parts.chat.emplace(std::move(*chat));

  parts.limits.window = std::min(parts.large->window(), parts.small->window());
  parts.limits.batch = std::min(parts.large->batch(), parts.small->batch());
  parts.limits.output_rows = std::min(plan->options.output_rows, parts.limits.batch);
  parts.info.large = describe(plan->large, parts.large_model.get(), *parts.large, *shared);
  parts.info.small = describe(plan->small, parts.small_model.get(), *parts.small, *shared);
  if (expected) {
    // Afterwards llama.cpp counts the whole mapped file and, beside it, the weights that it rearranged from there.
    parts.info.large.memory.weights = expected->large.all.weights;
    parts.info.small.memory.weights = expected->small.all.weights;
  }
  parts.limits.can_cut = parts.info.large.can_cut_cache && parts.info.small.can_cut_cache;
  parts.info.window = parts.limits.window;
  parts.info.threads = plan->options.threads;
  parts.info.engine = fmt::format("llama.cpp {}: {}", llama_version(), llama_print_system_info());
  parts.info.same_chat_template = same_template(parts.large_model.get(), parts.small_model.get());
  return std::make_unique<LlamaPair>(std::move(parts));
}

}  // namespace

Result<std::unique_ptr<Pair>> Pair::load(const PairOptions& options, const LoadProgress& progress, LogSink log) {
  return guarded("loading a pair", [&] {
    set_log_sink(std::move(log));
    return load_pair(options, progress);
  });
}

}  // namespace relaygen
