// The sentence detector against the slow oracle. The input is the text; it is fed in pieces whose sizes are taken from
// the input itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "relaygen/sentence.h"
#include "support/sentence_oracle.h"

using namespace relaygen;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1200) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const Rules rules : {Rules::exact, Rules::published}) {
    SentenceEnds detector(rules);
    std::vector<std::uint64_t> ends;
    std::string_view text = input;
    while (!text.empty()) {
      const auto piece = text.substr(0, 1 + static_cast<unsigned char>(text.front()) % 7);
      text.remove_prefix(piece.size());
      detector.feed(piece, ends);
      const auto waiting = detector.waiting();
      if (waiting && *waiting > detector.position()) std::abort();
    }
    detector.finish(ends);
    if (ends != oracle::sentence_ends(input, rules)) std::abort();
  }
  return 0;
}
