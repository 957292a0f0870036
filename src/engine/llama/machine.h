// What the machine offers: cores and free memory.
#pragma once

#include <cstdint>

namespace relaygen::engine {

/// Physical cores that this process may use (affinity and cgroup quota respected), at least 1.
[[nodiscard]] std::int32_t usable_cores();

/// Memory that can be taken without swapping, bytes: what the system reports as available, or what the cgroup has left
/// where that is less. 0: unknown.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace relaygen::engine
