// Thinking and answer: following the tags through a stream of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/types.h"

namespace relaygen {

/// The tags of a chat format, e.g. {"<think>", {"</think>"}}. A model without thinking has no end tags; its whole text
/// then counts as thinking for handoffs and as the answer for the reader.
struct ThinkingTags {
  std::string begin;              ///< may be empty
  std::vector<std::string> ends;  ///< any of these ends the thinking; empty: the model does not think
  bool operator==(const ThinkingTags&) const = default;
};

inline constexpr std::size_t kMaxTagBytes = 64;  ///< longer tags are not recognised

/// Where the prompt leaves the model: before any tag, inside an opened tag, or after a closed one.
enum class PromptState : std::uint8_t { before_thinking, thinking, answering };

/// What the rendered generation prompt (the part of the prompt after the last user message) means for the first token.
[[nodiscard]] PromptState prompt_state(const ThinkingTags& tags, std::string_view generation_prompt);

/// Follows the phase of one text. A value; tags may be split over any number of feeds. The begin tag counts only as the
/// first thing of the text (white space before it aside) and where the prompt did not open it; the first end tag ends
/// the thinking; every later tag is text. Tags of more than 64 bytes are not recognised. O(total tag length) a byte at
/// worst, no allocation.
class PhaseTracker {
 public:
  explicit PhaseTracker(PromptState start = PromptState::before_thinking);

  /// Appends bytes. Returns the offset one past the end tag if the thinking ended within these bytes.
  std::optional<std::uint64_t> feed(const ThinkingTags& tags, std::string_view bytes);

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] bool opened() const noexcept { return opened_; }  ///< a begin tag was seen (in the prompt or the text)
  [[nodiscard]] bool may_open() const noexcept { return begin_possible_; }  ///< the begin tag can still come
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

  /// Byte range of the thinking without its tags, and the start of the answer, in the text fed so far.
  /// Without any tag in the text: thinking_begin = 0 and the answer has not begun (or, where the prompt leaves the model
  /// answering, thinking_end = answer_begin = 0).
  [[nodiscard]] std::uint64_t thinking_begin() const noexcept { return thinking_begin_; }
  [[nodiscard]] std::optional<std::uint64_t> thinking_end() const noexcept { return thinking_end_; }
  [[nodiscard]] std::optional<std::uint64_t> answer_begin() const noexcept { return answer_begin_; }

 private:
  static constexpr std::size_t kTail = kMaxTagBytes;

  void match_begin(std::string_view tag, char byte, std::uint64_t end);
  bool ends_with(std::string_view tag, std::string_view bytes) const;
  void remember(std::string_view bytes);

  Phase phase_ = Phase::thinking;
  bool opened_ = false;
  bool begin_possible_ = true;      // nothing but white space and the first bytes of the begin tag so far
  std::uint8_t begin_matched_ = 0;  // so many of them
  std::uint8_t tail_size_ = 0;
  char tail_[kTail] = {};  // the last bytes of the text
  std::uint64_t position_ = 0;
  std::uint64_t thinking_begin_ = 0;
  std::optional<std::uint64_t> thinking_end_;
  std::optional<std::uint64_t> answer_begin_;
};

}  // namespace relaygen
