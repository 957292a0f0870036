// Hashes that stay the same on every machine: seeds, the order of options, the identity of a dataset. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace relaygen {

/// FNV-1a over pieces, each with its length, so that "ab" + "c" differs from "a" + "bc".
class Hash {
 public:
  Hash& add(std::string_view text);
  Hash& add(std::uint64_t number);
  [[nodiscard]] std::uint64_t value() const;  ///< all bits depend on all input
  [[nodiscard]] std::string hex() const;      ///< 16 digits

 private:
  void byte(unsigned char one) { state_ = (state_ ^ one) * 0x100000001b3ull; }
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

/// The seed of one output: the same for every policy, in [0, 2^63), so that `relaygen run --seed` takes it too.
[[nodiscard]] std::uint64_t output_seed(std::uint64_t seed, std::string_view problem, std::uint32_t sample);

}  // namespace relaygen
