// The profile reader on any bytes: a profile or an error, never anything else; and what was read survives being written
// and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/unicode.h"
#include "relaygen/profile.h"

using namespace relaygen;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Profile& profile) {
  require(CueSet::build(profile.cues, profile.rules).has_value());
  require(profile.max_small_tokens.value_or(1) >= 1);
  for (const Cue& cue : profile.cues) require(unicode::is_utf8(cue.text));
}

bool same(const ProfileModel& a, const ProfileModel& b) { return a.name == b.name && a.vocabulary == b.vocabulary; }

bool same(const Profile& a, const Profile& b) {
  bool cues = a.cues.size() == b.cues.size();
  for (std::size_t i = 0; cues && i < a.cues.size(); ++i) {
    cues = a.cues[i].text == b.cues[i].text && a.cues[i].selected == b.cues[i].selected;
  }
  return cues && a.name == b.name && a.provenance == b.provenance && same(a.large, b.large) && same(a.small, b.small) &&
         a.rules == b.rules && a.min_large_tokens == b.min_large_tokens && a.max_small_tokens == b.max_small_tokens &&
         a.small_may_answer == b.small_may_answer && a.answer_evidence == b.answer_evidence;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto profile = parse_profile({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!profile) {
    require(profile.error().kind == ErrorKind::bad_profile);
    require(!profile.error().message.empty());
    return 0;
  }
  check(*profile);
  const std::string written = write_profile(*profile);
  require(unicode::is_utf8(written));
  const auto again = parse_profile(written, "again.json");
  require(again.has_value());
  require(same(*profile, *again));
  require(write_profile(*again) == written);
  return 0;
}
