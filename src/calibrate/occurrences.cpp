#include "calibrate/occurrences.h"

#include <algorithm>
#include <string_view>

#include "relaygen/sentence.h"

namespace relaygen::calibrate {
namespace {

// The sentence detector in front of each handoff, asked for in ascending order.
class Sentences {
 public:
  Sentences(std::string_view thinking, Rules rules) : thinking_(thinking), detector_(rules) {}

  /// Offset of the first sentence end behind `handoff`, or the end of the thinking.
  std::uint64_t end_after(std::uint64_t handoff) {
    ends_.clear();
    detector_.feed(thinking_.substr(detector_.position(), handoff - detector_.position()), ends_);
    SentenceEnds segment = detector_;
    segment.begin_segment();
    std::vector<std::uint64_t> ends;
    for (std::uint64_t at = handoff; at < thinking_.size(); ++at) {
      segment.feed(thinking_.substr(at, 1), ends);
      if (!ends.empty() && ends.back() > handoff) return ends.back();
    }
    return thinking_.size();
  }

 private:
  std::string_view thinking_;
  SentenceEnds detector_;
  std::vector<std::uint64_t> ends_;
};

// All that fires, in order of its end. Under the published rules the matcher tells one string for each place, which is
// what a relay needs; the reference scores each string by itself ("another" is one of "other" too).
std::vector<CueMatch> matches(std::string_view thinking, const CueSet& cues) {
  std::vector<CueMatch> fired;
  if (cues.rules() == Rules::exact) {
    CueMatcher matcher;
    matcher.feed(cues, thinking, fired);
    matcher.finish(cues, fired);
    return fired;
  }
  for (std::uint32_t cue = 0; cue < cues.cues().size(); ++cue) {
    const auto& [text, selected] = cues.cues()[cue];
    for (auto at = thinking.find(text); selected && at != std::string_view::npos; at = thinking.find(text, at + 1))
      fired.push_back({cue, at, at + text.size()});
  }
  std::ranges::stable_sort(fired, {}, &CueMatch::end);
  return fired;
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

std::vector<Occurrence> find_occurrences(const Trace& trace, const Extent& extent, const CueSet& cues,
                                         std::uint32_t most_tokens) {
  const std::string_view thinking = thinking_of(trace, extent);
  const std::vector<CueMatch> fired = matches(thinking, cues);
  Sentences sentences(thinking, cues.rules());
  std::vector<Occurrence> found;
  for (const CueMatch& match : fired) {
    const std::uint32_t first = token_from(trace, extent.thinking_begin + match.end);
    if (first >= extent.last_thinking) continue;
    const std::uint64_t handoff = trace.begin_of(first) - extent.thinking_begin;
    const std::uint64_t end = sentences.end_after(handoff);
    std::uint32_t last = std::min(token_from(trace, extent.thinking_begin + end), extent.last_thinking);
    if (most_tokens > 0) last = std::min(last, first + most_tokens);
    if (last <= first) continue;
    found.push_back({.cue = match.cue,
                     .begin = static_cast<std::uint32_t>(extent.thinking_begin + match.begin),
                     .end = static_cast<std::uint32_t>(extent.thinking_begin + match.end),
                     .after = {first, last}});
  }
  return found;
}

std::vector<Stretch> sentence_tails(const Trace& trace, const Extent& extent, Rules rules) {
  const std::string_view thinking = thinking_of(trace, extent);
  std::vector<std::uint64_t> ends;
  SentenceEnds detector(rules);
  detector.feed(thinking, ends);
  detector.finish(ends);
  if (ends.empty() || ends.back() < thinking.size()) ends.push_back(thinking.size());
  std::vector<Stretch> tails;
  std::size_t begin = 0;
  for (const std::uint64_t end : ends) {
    std::size_t at = begin;
    while (at < end && is_blank(thinking[at])) ++at;
    while (at < end && !is_blank(thinking[at])) ++at;
    const std::uint32_t first = token_from(trace, extent.thinking_begin + at);
    const std::uint32_t last = std::min(token_from(trace, extent.thinking_begin + end), extent.last_thinking);
    if (first < last) tails.push_back({first, last});
    begin = end;
  }
  return tails;
}

std::vector<Occurrence> handoffs_of(std::span<const Occurrence> occurrences, const std::vector<bool>& selected,
                                    std::uint32_t min_large_tokens) {
  std::vector<Occurrence> taken;
  std::uint32_t large_from = 0;  // the opening tag is the large model's too
  for (const Occurrence& one : occurrences) {
    if (!selected[one.cue] || one.after.first < large_from + std::max(min_large_tokens, 1U)) continue;
    taken.push_back(one);
    large_from = one.after.last;
  }
  return taken;
}

}  // namespace relaygen::calibrate
