#include "engine/llama/sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/llama/loading.h"

namespace relaygen::engine {

Sequence::Sequence(ContextHandle context, ggml_threadpool* threads, const std::atomic<bool>& stop, std::int32_t shared,
                   std::int32_t window, std::int32_t output_rows)
    : context_(std::move(context)),
      memory_(llama_get_memory(context_.get())),
      batch_(static_cast<std::int32_t>(llama_n_batch(context_.get()))),
      shared_(shared),
      output_rows_(output_rows),
      window_(std::min(window, static_cast<std::int32_t>(llama_n_ctx_seq(context_.get())))) {
  rows_.reserve(static_cast<std::size_t>(output_rows));
  if (threads != nullptr) llama_attach_threadpool(context_.get(), threads, threads);
  // Asked between the operations of a graph, by a computing thread.
  llama_set_abort_callback(
      context_.get(),
      [](void* flag) { return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed); },
      const_cast<std::atomic<bool>*>(&stop));
}

Status Sequence::classify() {
  const llama_model* model = llama_get_model(context_.get());
  if (memory_ == nullptr) {
    return fail(ErrorKind::bad_model, "The model keeps no memory of a text", "give a decoder-only language model");
  }
  can_cut_ = !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model);
  const std::int32_t rows = std::min({2, window_, batch()});
  const std::array<TokenId, 2> tokens{0, 0};
  const auto decoded = decode(std::span(tokens).first(static_cast<std::size_t>(rows)), 1);
  if (!decoded) return tl::unexpected(decoded.error());
  if (can_cut_ && rows == 2) can_cut_ = llama_memory_seq_rm(memory_, 0, 1, -1);
  clear();
  return {};
}

std::int32_t Sequence::truncate(std::int32_t length) {
  length = std::max(length, 0);
  if (length >= cached_) return cached_;
  if (length == 0 || !can_cut_ || !llama_memory_seq_rm(memory_, 0, length, -1)) {
    clear();
    return cached_;
  }
  read_back();
  // A cache that dropped early cells (a sliding window) cannot continue from an earlier point.
  if (cached_ != length || llama_memory_seq_pos_min(memory_, 0) != 0) clear();
  return cached_;
}

Result<LogitRows> Sequence::decode(std::span<const TokenId> tokens, std::int32_t output_rows) {
  if (const Status status = check(tokens, output_rows); !status) return tl::unexpected(status.error());
  const auto count = static_cast<std::int32_t>(tokens.size());
  if (count > window_ - cached_) {
    return fail(ErrorKind::no_cache_slot,
                fmt::format("{} more tokens do not fit: {} of {} are used", count, cached_, window_),
                "use a longer context (-c)");
  }
  llama_batch& batch = batch_.get();
  batch.n_tokens = count;
  for (std::int32_t row = 0; row < count; ++row) {
    batch.token[row] = tokens[static_cast<std::size_t>(row)];
    batch.pos[row] = cached_ + row;
    batch.logits[row] = row >= count - output_rows ? 1 : 0;
  }
  if (const std::int32_t code = call_decode(batch); code != 0) return failed(code);
  cached_ += count;
  llama_synchronize(context_.get());  // the time of a decode is spent in it, whatever the back end

  rows_.clear();
  for (std::int32_t row = count - output_rows; row < count; ++row) {
    const float* logits = llama_get_logits_ith(context_.get(), row);
    if (logits == nullptr)
      return fail(ErrorKind::decode_failed, "The engine gave no logits for a row", "please report this");
    rows_.emplace_back(logits, static_cast<std::size_t>(shared_));
  }
  return LogitRows(rows_);
}

// What is thrown out of llama_decode (memory ran out) leaves its context half-way through a graph, with cells that were
// never computed: nothing may be decoded with it again.
std::int32_t Sequence::call_decode(const llama_batch& batch) {
  broken_ = true;
  const std::int32_t code = llama_decode(context_.get(), batch);
  broken_ = false;
  return code;
}

// llama.cpp aborts the process where these do not hold.
Status Sequence::check(std::span<const TokenId> tokens, std::int32_t output_rows) const {
  constexpr const char* kReport = "please report this";
  if (broken_) return fail(ErrorKind::out_of_memory, "Memory ran out inside an earlier decode", "load the pair again");
  if (tokens.empty() || tokens.size() > static_cast<std::size_t>(batch())) {
    return fail(ErrorKind::internal,
                fmt::format("A decode of {} tokens was asked for, 1 to {} are possible", tokens.size(), batch()),
                kReport);
  }
  const std::int32_t most = std::min({static_cast<std::int32_t>(tokens.size()), output_rows_, batch()});
  if (output_rows < 0 || output_rows > most) {
    return fail(ErrorKind::internal,
                fmt::format("Logits of {} rows were asked for, 0 to {} are possible", output_rows, most), kReport);
  }
  const auto unknown = std::ranges::find_if(tokens, [&](TokenId token) { return token < 0 || token >= shared_; });
  if (unknown != tokens.end()) {
    return fail(ErrorKind::internal,
                fmt::format("Token {} was to be decoded, the pair knows 0 to {}", *unknown, shared_ - 1), kReport);
  }
  return {};
}

tl::unexpected<Error> Sequence::failed(std::int32_t code) {
  // Codes 2 and below -1 leave the micro-batches that were finished in the cache. A state that cannot be cut may hold
  // half of the failed one, so it is given up.
  constexpr std::int32_t kNoSlot = 1, kAborted = 2, kBadBatch = -1;
  if (!can_cut_ && (code == kAborted || code < kBadBatch)) {
    clear();
  } else {
    read_back();
  }
  if (code == kNoSlot) {
    return fail(ErrorKind::no_cache_slot, "The engine found no room in its cache", "use a longer context (-c)");
  }
  if (code == kAborted) return fail(ErrorKind::cancelled, "The generation was stopped");
  return fail(ErrorKind::decode_failed, fmt::format("The engine could not decode (llama_decode returned {})", code),
              "try again; with a GPU, place fewer layers on it (-ngl)");
}

void Sequence::clear() {
  llama_memory_clear(memory_, false);
  cached_ = 0;
}

void Sequence::read_back() { cached_ = llama_memory_seq_pos_max(memory_, 0) + 1; }

}  // namespace relaygen::engine
