// Exit codes; the table for users is docs/exit-codes.md.
#pragma once

#include "relaygen/error.h"

namespace relaygen::cli {

inline constexpr int kExitIncomplete = 10;  // outputs of an evaluation are missing
inline constexpr int kExitInterrupted = 130;

[[nodiscard]] constexpr int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal: return 1;
    case ErrorKind::usage: return 2;
    case ErrorKind::bad_model: return 3;
    case ErrorKind::pair_mismatch: return 4;
    case ErrorKind::bad_profile: return 5;
    case ErrorKind::bad_input: return 6;
    case ErrorKind::too_long: return 6;
    case ErrorKind::out_of_memory: return 7;
    case ErrorKind::no_cache_slot: return 8;
    case ErrorKind::decode_failed: return 8;
    case ErrorKind::output_failed: return 9;
    case ErrorKind::cancelled: return kExitInterrupted;
  }
  return 1;
}

}  // namespace relaygen::cli
