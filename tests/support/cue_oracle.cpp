#include "support/cue_oracle.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>

namespace relaygen::oracle {
namespace {

struct Character {
  std::size_t begin;
  std::size_t end;
  utf8proc_int32_t value;  // -1: a byte that is no character
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> all;
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t value = -1;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       static_cast<utf8proc_ssize_t>(text.size() - at), &value);
    const std::size_t end = at + (size > 0 ? static_cast<std::size_t>(size) : 1);
    all.push_back({at, end, size > 0 ? value : -1});
    at = end;
  }
  return all;
}

bool is_word(utf8proc_int32_t c) {
  if (c < 0) return false;
  if (c == '_') return true;
  const std::string category = utf8proc_category_string(c);
  return category[0] == 'L' || category[0] == 'M' || category == "Nd";
}

bool continues_word(utf8proc_int32_t c) { return is_word(c) || c == '\'' || c == 0x2019; }

struct Occurrence {
  std::size_t begin;
  std::size_t end;
  bool spaced;
  std::uint32_t cue;
};

bool more_specific(const Occurrence& a, const Occurrence& b) {
  const bool contains = a.begin <= b.begin && a.end >= b.end;
  const bool same = a.begin == b.begin && a.end == b.end;
  return same ? a.spaced && !b.spaced : contains;
}

std::vector<Occurrence> valid_occurrences(std::span<const Cue> cues, std::string_view text) {
  const std::vector<Character> all = characters_of(text);
  std::vector<Occurrence> valid;
  for (std::uint32_t c = 0; c < cues.size(); ++c) {
    std::string stem = cues[c].text;
    const bool spaced = stem.back() == ' ';
    if (spaced) stem.pop_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (text.substr(all[i].begin, stem.size()) != stem) continue;
      std::size_t last = i;
      while (all[last].end < all[i].begin + stem.size()) ++last;
      if (i > 0 && is_word(all[i - 1].value) && is_word(all[i].value)) continue;
      const bool at_end = last + 1 == all.size();
      if (spaced ? at_end || all[last + 1].value != ' '
                 : !at_end && is_word(all[last].value) && continues_word(all[last + 1].value)) {
        continue;
      }
      const bool listed_before = std::any_of(valid.begin(), valid.end(), [&](const Occurrence& o) {
        return o.begin == all[i].begin && cues[o.cue].text == cues[c].text;
      });
      if (!listed_before) valid.push_back({all[i].begin, all[last].end, spaced, c});
    }
  }
  return valid;
}

std::vector<CueMatch> published_matches(std::span<const Cue> cues, std::string_view text) {
  std::vector<CueMatch> fired;
  for (std::size_t end = 1; end <= text.size(); ++end) {
    const Cue* longest = nullptr;
    for (const Cue& cue : cues) {
      if (cue.selected && text.substr(0, end).ends_with(cue.text) &&
          (!longest || cue.text.size() > longest->text.size()))
        longest = &cue;
    }
    if (longest) fired.push_back({static_cast<std::uint32_t>(longest - cues.data()), end - longest->text.size(), end});
  }
  return fired;
}

}  // namespace

std::vector<CueMatch> matches(std::span<const Cue> cues, std::string_view text, Rules rules) {
  if (rules == Rules::published) return published_matches(cues, text);
  const std::vector<Occurrence> valid = valid_occurrences(cues, text);
  std::vector<CueMatch> fired;
  for (const Occurrence& o : valid) {
    const bool dominated =
        std::any_of(valid.begin(), valid.end(), [&](const Occurrence& other) { return more_specific(other, o); });
    if (!dominated && cues[o.cue].selected) fired.push_back({o.cue, o.begin, o.end});
  }
  std::sort(fired.begin(), fired.end(), [](const CueMatch& a, const CueMatch& b) { return a.end < b.end; });
  return fired;
}

}  // namespace relaygen::oracle
