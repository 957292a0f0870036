#include "relaygen/relay.h"

namespace relaygen {

std::string_view name(SwitchReason why) {
  switch (why) {
    case SwitchReason::cue: return "cue";
    case SwitchReason::random: return "random";
    case SwitchReason::sentence_end: return "sentence_end";
    case SwitchReason::cap: return "cap";
    case SwitchReason::phase: return "phase";
    case SwitchReason::end_of_generation: return "end_of_generation";
    case SwitchReason::budget: return "budget";
    case SwitchReason::guard: return "guard";
    case SwitchReason::refused: return "refused";
  }
  return "?";
}

std::string_view name(Verification rule) {
  switch (rule) {
    case Verification::off: return "off";
    case Verification::typical: return "typical";
    case Verification::strict: return "strict";
  }
  return "?";
}

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none: return "none";
    case FinishReason::stop: return "stop";
    case FinishReason::stop_string: return "stop_string";
    case FinishReason::length: return "length";
    case FinishReason::cancelled: return "cancelled";
    case FinishReason::error: return "error";
  }
  return "?";
}

}  // namespace relaygen
