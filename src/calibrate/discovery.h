// Candidates that nobody named: words with which sentences and clauses of these traces often begin, in any language.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"

namespace relaygen::calibrate {

struct FoundCandidate {
  std::string text{};
  std::uint32_t count = 0;     ///< sentences and clauses that begin with it
  std::uint32_t problems = 0;  ///< in which it does
};

/// Counts openers: one to three words of a sentence or clause that a comma or a colon closes ("Let me check:"), and the
/// first word or the first two of a sentence without one ("Thus", "That means"). Words are letters and apostrophes; in a script without spaces an opener is
/// what stands before the first comma. Memory grows with the number of different openers, bounded by dropping rare ones.
class Discovery {
 public:
  void add(std::string_view thinking, std::uint32_t problem);

  /// The openers with at least so many occurrences and problems, the most frequent first (ties by text), at most `most`.
  [[nodiscard]] std::vector<FoundCandidate> frequent(std::uint32_t min_count, std::uint32_t min_problems,
                                                     std::size_t most) const;

 private:
  struct Counted {
    std::uint32_t count = 0;
    std::set<std::uint32_t> problems;
  };
  void note(std::string_view opener, std::uint32_t problem);
  void read_opener(std::string_view rest, bool of_sentence, std::uint32_t problem);

  std::map<std::string, Counted, std::less<>> openers_;
};

}  // namespace relaygen::calibrate
