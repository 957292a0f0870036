#include <algorithm>
#include <cstring>

#include "relaygen/phase.h"

namespace relaygen {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// One past the last occurrence of `tag`, 0 without one.
std::size_t last_end(std::string_view text, std::string_view tag) {
  const std::size_t at = tag.empty() ? std::string_view::npos : text.rfind(tag);
  return at == std::string_view::npos ? 0 : at + tag.size();
}

}  // namespace

PromptState prompt_state(const ThinkingTags& tags, std::string_view generation_prompt) {
  const std::size_t opened = last_end(generation_prompt, tags.begin);
  std::size_t closed = 0;
  for (const std::string& end : tags.ends) closed = std::max(closed, last_end(generation_prompt, end));
  if (opened == 0 && closed == 0) return PromptState::before_thinking;
  return opened >= closed ? PromptState::thinking : PromptState::answering;
}

PhaseTracker::PhaseTracker(PromptState start)
    : phase_(start == PromptState::answering ? Phase::answer : Phase::thinking),
      opened_(start != PromptState::before_thinking),
      begin_possible_(start == PromptState::before_thinking) {
  if (start == PromptState::answering) thinking_end_ = answer_begin_ = 0;
}

std::optional<std::uint64_t> PhaseTracker::feed(const ThinkingTags& tags, std::string_view bytes) {
  std::optional<std::uint64_t> ended;
  for (std::size_t i = 0; i < bytes.size() && phase_ == Phase::thinking; ++i) {
    const std::uint64_t end = position_ + i + 1;
    if (begin_possible_) match_begin(tags.begin, bytes[i], end);
    for (const std::string& tag : tags.ends) {
      if (tag.empty() || tag.size() > kTail || tag.back() != bytes[i] || !ends_with(tag, bytes.substr(0, i + 1)))
        continue;
      const std::uint64_t begin = end - tag.size();
      if (begin < thinking_begin_) continue;  // the begin tag itself ends like that
      phase_ = Phase::answer;
      begin_possible_ = false;
      thinking_end_ = std::min(thinking_end_.value_or(begin), begin);  // of two that end here the longer
      answer_begin_ = ended = end;
    }
  }
  position_ += bytes.size();
  if (phase_ == Phase::thinking) remember(bytes);
  return ended;
}

void PhaseTracker::match_begin(std::string_view tag, char byte, std::uint64_t end) {
  if (begin_matched_ < tag.size() && tag.size() <= kTail && byte == tag[begin_matched_]) {
    if (++begin_matched_ < tag.size()) return;
    opened_ = true;
    begin_possible_ = false;
    thinking_begin_ = end;
  } else if (begin_matched_ > 0 || !is_blank(byte)) {
    begin_possible_ = false;
  }
}

// Whether the text so far, tail_ and then `bytes`, ends with `tag`.
bool PhaseTracker::ends_with(std::string_view tag, std::string_view bytes) const {
  if (bytes.size() >= tag.size()) return bytes.ends_with(tag);
  const std::size_t before = tag.size() - bytes.size();
  return tag.ends_with(bytes) && std::string_view(tail_, tail_size_).ends_with(tag.substr(0, before));
}

void PhaseTracker::remember(std::string_view bytes) {
  if (bytes.size() > kTail) bytes.remove_prefix(bytes.size() - kTail);
  const std::size_t keep = std::min<std::size_t>(tail_size_, kTail - bytes.size());
  std::memmove(tail_, tail_ + tail_size_ - keep, keep);
  std::memcpy(tail_ + keep, bytes.data(), bytes.size());
  tail_size_ = static_cast<std::uint8_t>(keep + bytes.size());
}

}  // namespace relaygen
