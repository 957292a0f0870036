// Where sentences end.
//
// Exact rules: '.', '!' and '?' end a sentence when white space or the end of the text follows, closing quotes,
// brackets and '*' in between belonging to the sentence; the full-width marks 。！？ end one whatever follows; a blank
// line always ends one, its two line breaks included. No end: inside a number (3.14, 1,000.50), in an abbreviation
// ("e.g.", "Fig."), in an ellipsis, in a list number at the start of a line ("2. ") or a factorial (5!, n!) unless its
// line or the text ends there, inside \boxed{...}, inside mathematics ($...$, $$...$$, \(...\), \[...\]) or code
// (`...`, ```...```). A full stop that is the last thing in mathematics counts after the closing delimiter.
// Mathematics, code and boxes are bounded: a blank line closes them all, a line break or 256 bytes close $...$ and
// `...`. Mathematics written as "$ x $", or that begins with a digit, may as well be an amount of money: a '.' or '?'
// before white space ends the sentence in it too, and it with the sentence. In doubt a sentence ends: a false end hands back early, a missed one lets the small model run on.
// White space alone is no sentence: a blank line gives no end of its own where only white space precedes it since the
// last end ("Yes.\n\nNo." ends after "Yes." and after "No."), unless a writer took over in between (begin_segment).
// Published rules: any '.', '!', '?' or "\n\n", as raw bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"  // Rules

namespace relaygen {

/// The state of finding sentence ends in one text. A value: copy it to take a snapshot. O(1) a byte, no allocation.
class SentenceEnds {
 public:
  explicit SentenceEnds(Rules rules = Rules::exact) : rules_(rules) {}

  /// Appends bytes (any split) and appends to `ends` the offsets (one past the last byte of the sentence) that are
  /// certain now, ascending. An end may become certain only when the next character is known.
  void feed(std::string_view bytes, std::vector<std::uint64_t>& ends);

  /// The text ends here: an end that waited for its next character counts.
  void finish(std::vector<std::uint64_t>& ends);

  /// The offset at which a sentence ends if the text ends here, or if white space follows (after a list number or a
  /// factorial: a line break); nullopt when nothing waits.
  [[nodiscard]] std::optional<std::uint64_t> waiting() const noexcept;

  /// Another writer takes over here: its text counts as a sentence even while it is only white space, so that a segment
  /// that begins with a blank line is ended by it. Ends reported later may still lie at or before this point.
  void begin_segment() noexcept;

  /// What was fed so far comes before the text: offsets count from here on, and only ends behind this point are
  /// reported. A sentence, mathematics or code that is open stays so.
  void begin_text() noexcept;

  /// Bytes fed so far.
  [[nodiscard]] std::uint64_t position() const noexcept { return whole_ + partial_size_; }

 private:
  enum class Mode : std::uint8_t { text, code, inline_math, display_math, paren_math, bracket_math, boxed };
  enum class Stop : std::uint8_t { none, refused, strong, weak };  // weak: an end only where the line ends
  enum class Run : std::uint8_t { dots, bangs, mixed };

  bool calm() const noexcept;
  std::size_t skim(std::string_view bytes);
  void feed_published(std::string_view bytes, std::vector<std::uint64_t>& ends);
  void feed_character(char32_t c, std::size_t size, std::vector<std::uint64_t>& ends);
  void in_text(char32_t c, std::uint64_t end, std::vector<std::uint64_t>& ends);
  bool settle_stop(char32_t c, std::uint64_t end, std::vector<std::uint64_t>& ends);
  void start_stop(char32_t c, std::uint64_t end);
  void track_word(char32_t c);
  bool in_code(char32_t c);
  bool in_inline_math(char32_t c, std::vector<std::uint64_t>& ends);
  void in_block_math(char32_t c, std::uint64_t end);
  void in_box(char32_t c);
  bool stopped_in_doubt() const noexcept;
  void enter(Mode mode, std::uint64_t at);
  void leave_math(std::uint64_t end);
  void report(std::uint64_t end, std::vector<std::uint64_t>& ends);

  std::uint64_t whole_ = 0;          // bytes of whole characters fed
  std::uint64_t stop_end_ = 0;       // while stop_ is set: where the sentence would end
  std::uint64_t opened_ = 0;         // where the code or mathematics began, its delimiter excluded
  std::uint64_t segment_begin_ = 0;  // set by begin_segment()
  std::uint64_t word_ = 0;           // the last 8 bytes of the current word's ASCII form
  char32_t previous_ = 0;            // the last whole character
  Rules rules_ = Rules::exact;
  Mode mode_ = Mode::text;
  Stop stop_ = Stop::none;
  Run run_ = Run::dots;
  std::uint8_t word_length_ = 0;  // characters of the word that the text ends with; 0: it ends with none
  std::uint8_t line_ = 0;         // 0: only blanks and list marks so far, 1-3: then so many digits, else: other text
  std::uint8_t ticks_ = 0;        // length of the run of '`' that the text ends with
  std::uint8_t fence_ = 0;        // '`' that opened the code: 1, 2 or 3 for more
  std::uint8_t depth_ = 0;        // open braces of \boxed
  std::uint8_t dots_ = 0;         // in mathematics: full stops that it ends with so far, at most 2
  std::uint8_t partial_size_ = 0;
  char partial_[4] = {};        // bytes of a character that is not complete yet
  bool closers_ = false;        // a closing mark follows the stop
  bool blanks_ = false;         // white space follows the (weak) stop
  bool content_ = false;        // something that can be ended stands since the last end
  bool after_newline_ = false;  // '\n' and then only blanks
  bool backslash_ = false;      // an unescaped '\\' stands before
  bool command_ = false;        // the current word follows an unescaped '\\'
  bool dollar_ = false;         // an unescaped '$' stands before, and its meaning depends on what follows
  bool spaced_ = false;         // the inline mathematics begins with a blank, as in "$ x $"
  bool doubtful_ = false;       // it begins with a blank or a digit: perhaps an amount of money
  bool dotted_ = false;         // the current word follows single letters with full stops, as in "e.g"
  bool chain_ = false;          // the full stop before followed a single letter
};

}  // namespace relaygen
