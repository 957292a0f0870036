#include "io/hashing.h"

#include <fmt/core.h>

namespace relaygen {

Hash& Hash::add(std::string_view text) {
  add(std::uint64_t{text.size()});
  for (const char c : text) byte(static_cast<unsigned char>(c));
  return *this;
}

Hash& Hash::add(std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) byte(static_cast<unsigned char>(number >> shift));
  return *this;
}

std::uint64_t Hash::value() const {  // the finalizer of splitmix64
  std::uint64_t mixed = state_ + 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  return mixed ^ (mixed >> 31);
}

std::string Hash::hex() const { return fmt::format("{:016x}", value()); }

std::uint64_t output_seed(std::uint64_t seed, std::string_view problem, std::uint32_t sample) {
  return Hash().add(seed).add(problem).add(std::uint64_t{sample}).value() >> 1;
}

}  // namespace relaygen
