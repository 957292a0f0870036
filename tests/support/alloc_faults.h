// Makes one allocation of this thread fail.
#pragma once

#include <cstdint>

namespace relaygen::testing {

enum class Failing { once, from_then_on };

/// While alive, the n-th operator new of this thread (from 0) throws std::bad_alloc; the later ones succeed or fail too.
class FailAllocation {
 public:
  explicit FailAllocation(std::uint64_t n, Failing failing = Failing::once);
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;
  /// Whether there was an n-th allocation.
  [[nodiscard]] bool happened() const;
};

}  // namespace relaygen::testing
