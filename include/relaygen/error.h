// Errors are values: every fallible function of RelayGen returns Result<T>.
// No exception crosses the public API but one: functions that return no Result may throw std::bad_alloc.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <variant>

namespace relaygen {

/// What kind of thing went wrong. The command line maps each kind to an exit code (docs/exit-codes.md).
enum class ErrorKind {
  usage,          ///< a flag or a combination of flags that makes no sense
  bad_input,      ///< prompt or text file: empty, not UTF-8, unreadable, malformed
  too_long,       ///< a prompt that does not fit the smaller of the two windows
  bad_model,      ///< a model file: missing, truncated, not GGUF, unsupported
  pair_mismatch,  ///< two models that cannot share one token sequence
  bad_profile,    ///< a profile: missing, malformed, made for another pair where that matters
  out_of_memory,  ///< an allocation failed, or a model would not fit
  no_cache_slot,  ///< the engine found no room in the KV cache (llama_decode returned 1)
  decode_failed,  ///< the engine could not decode (llama_decode returned a negative code)
  cancelled,      ///< the caller asked to stop (llama_decode returned 2, or the cancel flag was seen)
  output_failed,  ///< something could not be written: a full disk, a closed pipe
  internal,       ///< a defect in RelayGen; please report it
};

/// One sentence for a person (what happened, to which input) and one of advice (what to do next).
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;  ///< complete sentence without the final full stop
  std::string hint;     ///< what to do; empty where nothing helps
};

template <typename T>
using Result = tl::expected<T, Error>;

using Status = Result<std::monostate>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message, std::string hint = {}) {
  return tl::unexpected<Error>(Error{kind, std::move(message), std::move(hint)});
}

}  // namespace relaygen
