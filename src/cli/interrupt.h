// Ctrl-C: the first one stops the generation cleanly, a second one exits.
#pragma once

#include <atomic>

#include "relaygen/pair.h"

namespace relaygen::cli {

/// Installs the handlers of SIGINT and SIGTERM for the life of the process. Idempotent.
void handle_interrupts();

/// Set by the first signal. Clear it with forget_interrupt() before starting something new.
[[nodiscard]] const std::atomic<bool>& interrupted();
void forget_interrupt();

/// Stops the generation as a signal would, but does not count as one.
void stop_generating() noexcept;

/// While alive, a signal also aborts the decode that this pair is in.
class InterruptiblePair {
 public:
  explicit InterruptiblePair(Pair& pair);
  ~InterruptiblePair();
  InterruptiblePair(const InterruptiblePair&) = delete;
  InterruptiblePair& operator=(const InterruptiblePair&) = delete;
};

}  // namespace relaygen::cli
