// The cue matcher against the slow oracle. The input: lines that are cues ('!' first: known, not selected), an empty
// line, and the text, which is fed in pieces whose sizes are taken from the input itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"
#include "support/cue_oracle.h"

using namespace relaygen;

namespace {

bool same(const std::vector<CueMatch>& a, const std::vector<CueMatch>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const CueMatch& x, const CueMatch& y) {
    return x.cue == y.cue && x.begin == y.begin && x.end == y.end;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 600) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::vector<Cue> cues;
  while (!input.empty() && cues.size() < 16) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (line.empty()) break;
    const bool known = line.front() == '!';
    cues.push_back({std::string(line.substr(known ? 1 : 0)), !known});
  }
  for (const Rules rules : {Rules::exact, Rules::published}) {
    const auto set = CueSet::build(cues, rules);
    if (!set) return 0;
    CueMatcher matcher;
    std::vector<CueMatch> fired;
    std::string_view text = input;
    while (!text.empty()) {
      const auto piece = text.substr(0, 1 + static_cast<unsigned char>(text.front()) % 7);
      text.remove_prefix(piece.size());
      matcher.feed(*set, piece, fired);
      if (!matcher.undecided(*set, matcher.position()) && matcher.may_fire_here(*set)) std::abort();
    }
    matcher.finish(*set, fired);
    if (!same(fired, oracle::matches(cues, input, rules))) std::abort();
  }
  return 0;
}
