#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "cli/exit_code.h"

namespace relaygen::cli {
namespace {

std::atomic<bool> stop{false};
std::atomic<Pair*> current{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Pair*>::is_always_lock_free);

void on_signal(int) {
  if (stop.exchange(true)) ::_exit(kExitInterrupted);
  if (Pair* pair = current.load()) pair->request_stop();
}

}  // namespace

void handle_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);  // without SA_RESTART: a read of the next prompt ends
  ::sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& interrupted() { return stop; }

void stop_generating() noexcept {
  stop = true;
  if (Pair* pair = current.load()) pair->request_stop();
}

void forget_interrupt() {
  stop = false;
  if (Pair* pair = current.load()) pair->clear_stop();
}

InterruptiblePair::InterruptiblePair(Pair& pair) { current = &pair; }
InterruptiblePair::~InterruptiblePair() { current = nullptr; }

}  // namespace relaygen::cli
