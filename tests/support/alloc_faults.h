// Makes one allocation of this thread fail.
#pragma once

#include <cstdint>

namespace relaygen::testing {

/// While alive, the n-th operator new of this thread (from 0) throws std::bad_alloc; the others succeed.
class FailAllocation {
 public:
  explicit FailAllocation(std::uint64_t n);
  ~FailAllocation();
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;
  /// Whether there was an n-th allocation.
  [[nodiscard]] bool happened() const;
};

}  // namespace relaygen::testing
