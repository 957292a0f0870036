#include "support/alloc_faults.h"

#include <cstdlib>
#include <new>

namespace {

thread_local bool armed = false;
thread_local std::uint64_t countdown = 0;
thread_local bool failed = false;
thread_local bool for_good = false;

void* allocate(std::size_t size) {
  if (armed && failed && for_good) throw std::bad_alloc();
  if (armed && !failed && countdown-- == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace relaygen::testing {

FailAllocation::FailAllocation(std::uint64_t n, Failing failing) {
  for_good = failing == Failing::from_then_on;
  countdown = n;
  failed = false;
  armed = true;
}

FailAllocation::~FailAllocation() { armed = false; }

bool FailAllocation::happened() const { return failed; }

}  // namespace relaygen::testing
