// The boundary at which exceptions become error values.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "relaygen/error.h"

namespace relaygen::engine {

/// Runs `body` (which returns a Result) and turns what it throws into an error of the same type. `doing` completes the
/// sentence "RelayGen failed while ...".
template <typename Body>
auto guarded(const char* doing, Body&& body) -> decltype(body()) {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, std::string("Memory ran out while ") + doing,
                "close other programs, or use a smaller quantisation or a shorter context (-c)");
  } catch (const std::exception& error) {
    return fail(ErrorKind::internal, std::string("RelayGen failed while ") + doing + ": " + error.what(),
                "please report this");
  } catch (...) {
    return fail(ErrorKind::internal, std::string("RelayGen failed while ") + doing, "please report this");
  }
}

}  // namespace relaygen::engine
