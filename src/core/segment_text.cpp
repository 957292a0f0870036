// The relay's rules applied to a text that is already there. Cue matcher and sentence detector are the ones of the
// loop, fed with what each writer would have seen: under the exact rules the matcher reads everything, under the
// published ones it starts anew with each large segment, as the reference code does. The detector reads up to the
// handoff, is told that a writer takes over, and reads on to the first end. It never reads further than one character
// past that end (a weak stop: the blanks of its line), and the next handoff lies beyond.
#include <algorithm>
#include <array>
#include <limits>

#include "relaygen/segment.h"
#include "relaygen/sentence.h"

namespace relaygen {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Counts the words of a stretch of text while it grows.
class WordCount {
 public:
  WordCount(std::string_view text, std::uint64_t begin) : text_(text), at_(begin) {}

  std::uint64_t up_to(std::uint64_t end) {
    for (; at_ < end; ++at_) {
      const bool blank = is_blank(text_[at_]);
      if (!blank && !in_word_) ++count_;
      in_word_ = !blank;
    }
    return count_;
  }

 private:
  std::string_view text_;
  std::uint64_t at_;
  std::uint64_t count_ = 0;
  bool in_word_ = false;
};

// The handoffs that a large segment may end with.
class Cues {
 public:
  Cues(const CueSet& set, std::string_view thinking, std::uint64_t limit, std::uint32_t min_words)
      : set_(set), thinking_(thinking), limit_(limit), min_words_(min_words) {
    if (set.rules() == Rules::published) return;
    CueMatcher matcher;
    matcher.feed(set, thinking, all_);
    matcher.finish(set, all_);
  }

  std::optional<CueMatch> first_after(std::uint64_t begin) {
    return set_.rules() == Rules::published ? first_published(begin) : first_exact(begin);
  }

 private:
  std::optional<CueMatch> first_exact(std::uint64_t begin) {
    WordCount words(thinking_, begin);
    for (; next_ < all_.size() && all_[next_].end <= limit_; ++next_) {
      if (all_[next_].end > begin && words.up_to(all_[next_].end) >= min_words_) return all_[next_];
    }
    return std::nullopt;
  }

  std::optional<CueMatch> first_published(std::uint64_t begin) {
    WordCount words(thinking_, begin);
    CueMatcher matcher;
    std::vector<CueMatch> fired;
    for (std::uint64_t at = begin; at < limit_; ++at) {
      matcher.feed(set_, thinking_.substr(at, 1), fired);
      if (!fired.empty() && words.up_to(at + 1) >= min_words_) {
        return CueMatch{fired.back().cue, begin + fired.back().begin, begin + fired.back().end};
      }
      fired.clear();
    }
    return std::nullopt;
  }

  const CueSet& set_;
  std::string_view thinking_;
  std::uint64_t limit_;
  std::uint32_t min_words_;
  std::vector<CueMatch> all_;
  std::size_t next_ = 0;
};

struct End {
  std::uint64_t offset;
  SegmentEnd why;
};

// The ends of small segments, asked for in ascending order.
class Ends {
 public:
  Ends(std::string_view thinking, Rules rules, std::uint32_t max_words)
      : thinking_(thinking), max_words_(max_words), detector_(rules) {}

  /// `at_end` is what it means to reach the end of the thinking.
  End first_after(std::uint64_t handoff, SegmentEnd at_end) {
    read_up_to(handoff);
    detector_.begin_segment();
    std::uint64_t cap = kNever;
    std::uint32_t words = 0;
    // On beyond the cap as far as it takes to know whether a sentence ends exactly there.
    for (std::uint64_t at = handoff; (at <= cap || detector_.waiting() == cap) && !end_beyond(handoff); ++at) {
      if (at == thinking_.size()) {
        detector_.finish(ends_);
        break;
      }
      if (ends_word(at) && ++words == max_words_) cap = at + 1;
      read_up_to(at + 1);
    }
    const std::uint64_t sentence = end_beyond(handoff).value_or(kNever);
    const std::uint64_t first = std::min(sentence, cap);
    if (first >= thinking_.size()) return {thinking_.size(), at_end};
    return {first, first == sentence ? SegmentEnd::sentence_end : SegmentEnd::cap};
  }

 private:
  void read_up_to(std::uint64_t offset) {
    if (offset <= detector_.position()) return;
    ends_.clear();
    detector_.feed(thinking_.substr(detector_.position(), offset - detector_.position()), ends_);
  }

  // Whether the byte at `at` is the last one of a word.
  [[nodiscard]] bool ends_word(std::uint64_t at) const {
    return !is_blank(thinking_[at]) && (at + 1 == thinking_.size() || is_blank(thinking_[at + 1]));
  }

  [[nodiscard]] std::optional<std::uint64_t> end_beyond(std::uint64_t handoff) const {
    return !ends_.empty() && ends_.back() > handoff ? std::optional(ends_.back()) : std::nullopt;
  }

  std::string_view thinking_;
  std::uint32_t max_words_;
  SentenceEnds detector_;
  std::vector<std::uint64_t> ends_;  // of the last piece read
};

void segment_thinking(std::string_view thinking, std::uint64_t limit, SegmentEnd at_end, const CueSet& set,
                      const SegmentOptions& options, std::vector<TextSegment>& segments) {
  Cues cues(set, thinking, limit, options.min_large_words);
  Ends ends(thinking, set.rules(), options.max_small_words);
  for (std::uint64_t at = 0; at < thinking.size();) {
    const auto cue = cues.first_after(at);
    if (!cue || cue->end == thinking.size()) {
      segments.push_back({at, thinking.size(), Author::large, Phase::thinking, std::nullopt, at_end});
      return;
    }
    const End end = ends.first_after(cue->end, at_end);
    segments.push_back({at, cue->end, Author::large, Phase::thinking, std::nullopt, SegmentEnd::cue});
    segments.push_back({cue->end, end.offset, Author::small, Phase::thinking, cue->cue, end.why});
    at = end.offset;
  }
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string_view name(SegmentEnd why) {
  switch (why) {
    case SegmentEnd::cue: return "cue";
    case SegmentEnd::sentence_end: return "sentence_end";
    case SegmentEnd::phase: return "phase";
    case SegmentEnd::cap: return "cap";
    case SegmentEnd::end: return "end";
  }
  return "?";
}

Segmentation segment_text(std::string_view text, const CueSet& cues, const SegmentOptions& options) {
  PhaseTracker phase;
  phase.feed(options.tags, text);
  const std::uint64_t answer_begin = phase.answer_begin().value_or(text.size());
  const bool has_answer = answer_begin < text.size();

  Segmentation result;
  segment_thinking(text.substr(0, answer_begin), phase.thinking_end().value_or(text.size()),
                   has_answer ? SegmentEnd::phase : SegmentEnd::end, cues, options, result.segments);
  if (has_answer) {
    result.segments.push_back(
        {answer_begin, text.size(), options.answer_by, Phase::answer, std::nullopt, SegmentEnd::end});
  }

  std::array<std::uint64_t, 2> small{};
  Author before = Author::large;
  for (const TextSegment& s : result.segments) {
    if (s.author == Author::small) small[static_cast<std::size_t>(s.phase)] += s.end - s.begin;
    if (s.author == Author::small && before == Author::large) ++result.handoffs;
    before = s.author;
  }
  result.share_thinking = share(small[0], answer_begin);
  result.share_answer = share(small[1], text.size() - answer_begin);
  result.share_all = share(small[0] + small[1], text.size());
  return result;
}

}  // namespace relaygen
