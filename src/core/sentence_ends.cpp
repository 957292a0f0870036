// Finding the ends of sentences in a text that arrives in pieces.
//
// A state machine over characters. Its state is the context (text, code, mathematics, a box) and, in text, a *stop*:
// a run of '.', '!', '?' whose meaning depends on what follows. A stop is
//   strong   an end once white space follows, closing marks in between;
//   weak     a list number or a factorial: an end only where its line ends;
//   refused  an abbreviation or an ellipsis: no end, but it may still grow into one ("etc...?").
// What follows decides it one character later (a weak one after further blanks), so nothing is ever looked up again.
// What came before is kept as a few facts: the current word (its length, its last bytes for the list of
// abbreviations), whether it continues a chain of single letters with full stops, whether the line so far is a number.
//
// Only one context is open at a time: inside mathematics, code or a box nothing but its own end means anything. An
// unclosed one would swallow all ends that follow; hence the bounds (a blank line, for the inline ones also a line break
// or kInlineLimit bytes), after which the text is text again.
//
// The '$' needs most care, since a closing one that is taken for an opening one hides the ends after it. pandoc's rule:
// it opens mathematics before something other than white space and closes it after something other than white space
// and before something other than a digit. Two things are added, because models write both: "$ x + 1 $" with blanks
// inside is mathematics, and no formula begins with closing punctuation ("$." is a closing '$' whose opening one was not
// seen). A formula that begins with a blank or a digit may as well be an amount of money ("$5. Then $10", "5 $ more");
// in it a '.' or '?' before white space ends the sentence, and the formula.
#include <algorithm>
#include <array>
#include <limits>

#include "core/unicode.h"
#include "relaygen/sentence.h"

namespace relaygen {
namespace {

constexpr std::uint64_t kInlineLimit = 256;  // bytes
constexpr std::uint8_t kOtherText = 0xFF;    // for line_
constexpr std::uint8_t kListDigits = 3;      // a list number has no more

constexpr std::uint64_t packed(std::string_view word) {
  std::uint64_t bytes = 0;
  for (const char c : word) bytes = (bytes << 8) | static_cast<unsigned char>(c);
  return bytes;
}

constexpr std::array kAbbreviations = {packed("Fig"), packed("Figs"), packed("Eq"),     packed("Eqs"), packed("Sec"),
                                       packed("vs"),  packed("cf"),   packed("approx"), packed("Dr"),  packed("Mr"),
                                       packed("Mrs"), packed("Ms"),   packed("Prof"),   packed("al"),  packed("resp"),
                                       packed("Thm"), packed("Lem"),  packed("Prop"),   packed("Def"), packed("Ex"),
                                       packed("Ch"),  packed("Vol"),  packed("Ref")};
constexpr std::uint8_t kLongestAbbreviation = 6;
constexpr std::uint64_t kBoxed = packed("boxed");

constexpr bool is_stop(char32_t c) { return c == U'.' || c == U'!' || c == U'?' || c == U'…'; }
constexpr bool is_full_width_stop(char32_t c) { return c == U'。' || c == U'！' || c == U'？'; }

constexpr bool is_closer(char32_t c) {
  return c == U')' || c == U']' || c == U'}' || c == U'"' || c == U'\'' || c == U'”' || c == U'’' || c == U'»' ||
         c == U'*';
}

// No formula begins with it.
constexpr bool is_closing_punctuation(char32_t c) {
  return is_stop(c) || is_full_width_stop(c) || c == U',' || c == U';' || c == U':' || c == U')' || c == U']' ||
         c == U'}';
}

// Whether an offset lies before the text, where begin_text() made it wrap.
constexpr bool is_past(std::uint64_t end) { return end - 1 > std::numeric_limits<std::uint64_t>::max() / 2; }

// What may stand before a list number.
constexpr bool is_list_mark(char32_t c) { return c == U'#' || c == U'-' || c == U'*' || c == U'>' || c == U'('; }

std::uint8_t more(std::uint8_t count) { return count == 0xFF ? count : static_cast<std::uint8_t>(count + 1); }

}  // namespace

void SentenceEnds::feed(std::string_view bytes, std::vector<std::uint64_t>& ends) {
  if (rules_ == Rules::published) return feed_published(bytes, ends);
  for (std::size_t i = 0; i < bytes.size();) {
    if (calm()) {
      i += skim(bytes.substr(i));
      if (i == bytes.size()) return;
    }
    const char byte = bytes[i++];
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x80 && partial_size_ == 0) {
      feed_character(value, 1, ends);
    } else {
      unicode::push_byte(partial_, partial_size_, byte,
                         [&](std::string_view whole, char32_t c) { feed_character(c, whole.size(), ends); });
    }
  }
}

// Nothing waits for the next character.
bool SentenceEnds::calm() const noexcept {
  return mode_ == Mode::text && stop_ == Stop::none && ticks_ == 0 && partial_size_ == 0 && !dollar_ && !backslash_;
}

void SentenceEnds::track_word(char32_t c) {
  if (word_length_ == 0) {
    word_ = 0;
    dotted_ = chain_ && previous_ == U'.';
    chain_ = false;
  }
  word_length_ = more(word_length_);
  word_ = (word_ << 8) | (c < 0x80 ? c : 0xFFu);
}

// What feed_character does while the text is calm, for ASCII letters and spaces only: most of all text. Returns how many
// bytes it read.
std::size_t SentenceEnds::skim(std::string_view bytes) {
  std::size_t i = 0;
  for (; i < bytes.size(); ++i) {
    const auto value = static_cast<unsigned char>(bytes[i]);
    if (unicode::is_ascii_letter(value)) {
      if (word_length_ == 0) command_ = false;
      track_word(value);
      line_ = kOtherText;
      content_ = true;
      after_newline_ = false;
    } else if (value == ' ') {
      word_length_ = 0;
      if (line_ != 0) line_ = kOtherText;
    } else {
      break;
    }
    previous_ = value;
  }
  whole_ += i;
  return i;
}

void SentenceEnds::feed_published(std::string_view bytes, std::vector<std::uint64_t>& ends) {
  for (const char byte : bytes) {
    ++whole_;
    if (byte == '.' || byte == '!' || byte == '?' || (byte == '\n' && previous_ == U'\n')) ends.push_back(whole_);
    previous_ = static_cast<unsigned char>(byte);
  }
}

void SentenceEnds::finish(std::vector<std::uint64_t>& ends) {
  unicode::finish_bytes(partial_, partial_size_,
                        [&](std::string_view whole, char32_t c) { feed_character(c, whole.size(), ends); });
  if (const auto end = waiting()) {
    stop_ = Stop::none;
    mode_ = Mode::text;
    report(*end, ends);
  }
}

std::optional<std::uint64_t> SentenceEnds::waiting() const noexcept {
  std::optional<std::uint64_t> end;
  if (stop_ == Stop::strong || stop_ == Stop::weak) {
    end = stop_end_;
  } else if (mode_ == Mode::inline_math && ((dollar_ && dots_ == 1) || stopped_in_doubt())) {
    end = whole_;
  }
  return end && is_past(*end) ? std::nullopt : end;
}

void SentenceEnds::begin_segment() noexcept {
  segment_begin_ = position();
  content_ = true;
}

void SentenceEnds::begin_text() noexcept {
  const auto past = position();
  for (std::uint64_t* offset : {&whole_, &opened_, &stop_end_}) *offset -= past;  // before the text: they wrap
  segment_begin_ = 0;
}

void SentenceEnds::report(std::uint64_t end, std::vector<std::uint64_t>& ends) {
  if (!is_past(end)) ends.push_back(end);
  content_ = !is_past(end) && end <= segment_begin_;
}

void SentenceEnds::feed_character(char32_t c, std::size_t size, std::vector<std::uint64_t>& ends) {
  const std::uint64_t end = whole_ + size;
  const bool space = unicode::is_space(c);
  const bool blank_line = c == U'\n' && after_newline_;
  content_ = content_ || !space;

  bool text_now = mode_ == Mode::text;
  switch (mode_) {
    case Mode::text: break;
    case Mode::code: text_now = in_code(c); break;
    case Mode::inline_math: text_now = in_inline_math(c, ends); break;
    case Mode::boxed: in_box(c); break;
    default: in_block_math(c, end); break;
  }
  if (text_now) in_text(c, end, ends);

  if (c == U'\n') {
    after_newline_ = true;
  } else if (c != U' ' && c != U'\t' && c != U'\r') {
    after_newline_ = false;
  }
  if (unicode::is_line_break(c)) {
    line_ = 0;
  } else if (line_ == 0 && (space || is_list_mark(c))) {
    // still before the line's text
  } else {
    line_ = unicode::is_ascii_digit(c) && line_ < kListDigits ? static_cast<std::uint8_t>(line_ + 1) : kOtherText;
  }
  previous_ = c;
  whole_ = end;
  if (blank_line) {
    enter(Mode::text, end);
    if (content_) report(end, ends);
  }
}

// --- text ---------------------------------------------------------------------------------------------------------

void SentenceEnds::in_text(char32_t c, std::uint64_t end, std::vector<std::uint64_t>& ends) {
  if (stop_ != Stop::none && settle_stop(c, end, ends)) {
    word_length_ = 0;
    return;
  }
  const bool escaped = backslash_;
  backslash_ = false;
  if (dollar_) {
    dollar_ = false;
    if (c == U'$') return enter(Mode::display_math, end);
    if (!unicode::is_line_break(c) && !is_closing_punctuation(c)) {
      enter(Mode::inline_math, whole_);
      spaced_ = unicode::is_space(c);
      doubtful_ = spaced_ || unicode::is_ascii_digit(c);
      in_inline_math(c, ends);  // stays inside: it is the first character
      return;
    }
  }
  if (c == U'`' && !escaped) {
    ticks_ = more(ticks_);
    word_length_ = 0;
    return;
  }
  if (ticks_ > 0) {
    const std::uint8_t fence = std::min<std::uint8_t>(ticks_, 3);
    enter(Mode::code, whole_);
    fence_ = fence;
    if (in_code(c)) in_text(c, end, ends);
    return;
  }
  if (unicode::is_word(c)) {
    command_ = word_length_ > 0 ? command_ : escaped;
    return track_word(c);
  }
  if (is_stop(c)) {
    start_stop(c, end);
  } else if (is_full_width_stop(c)) {
    report(end, ends);
  } else if (c == U'\\') {
    backslash_ = !escaped;
  } else if (c == U'$') {
    dollar_ = !escaped;
  } else if (c == U'(' && escaped) {
    enter(Mode::paren_math, end);
  } else if (c == U'[' && escaped) {
    enter(Mode::bracket_math, end);
  } else if (c == U'{' && command_ && word_length_ == 5 && word_ == kBoxed) {
    enter(Mode::boxed, end);
    depth_ = 1;
  }
  word_length_ = 0;
}

// Whether `c` belongs to the stop that stands before it. If not, the stop is decided.
bool SentenceEnds::settle_stop(char32_t c, std::uint64_t end, std::vector<std::uint64_t>& ends) {
  if (is_stop(c) && !closers_ && !blanks_) {
    if ((c == U'.' || c == U'…') && run_ == Run::dots) {
      stop_ = Stop::refused;  // an ellipsis
    } else if (c != U'!' || run_ != Run::bangs) {
      run_ = Run::mixed;
      stop_ = Stop::strong;
    }
    stop_end_ = end;
    chain_ = false;
    return true;
  }
  if (is_closer(c) && !blanks_) {
    closers_ = true;
    stop_end_ = end;
    return true;
  }
  if (unicode::is_space(c) && stop_ == Stop::weak && !unicode::is_line_break(c)) {
    blanks_ = true;
    return false;
  }
  const bool is_end = unicode::is_space(c) && stop_ != Stop::refused;
  stop_ = Stop::none;
  if (is_end) report(stop_end_, ends);
  return false;
}

void SentenceEnds::start_stop(char32_t c, std::uint64_t end) {
  const bool single_letter = word_length_ == 1 && unicode::is_letter(previous_);
  const bool abbreviated = (single_letter && dotted_) ||
                           (word_length_ > 0 && word_length_ <= kLongestAbbreviation &&
                            std::find(kAbbreviations.begin(), kAbbreviations.end(), word_) != kAbbreviations.end());
  chain_ = c == U'.' && single_letter;
  stop_end_ = end;
  closers_ = blanks_ = false;
  stop_ = Stop::strong;
  run_ = Run::mixed;
  if (c == U'…') {
    run_ = Run::dots;
    stop_ = Stop::refused;
  } else if (c == U'.') {
    run_ = Run::dots;
    if (abbreviated) {
      stop_ = Stop::refused;
    } else if (line_ >= 1 && line_ <= kListDigits) {
      stop_ = Stop::weak;
    }
  } else if (c == U'!') {
    run_ = Run::bangs;
    if (single_letter || unicode::is_ascii_digit(previous_)) stop_ = Stop::weak;
  }
}

// --- code, mathematics, boxes -------------------------------------------------------------------------------------

void SentenceEnds::enter(Mode mode, std::uint64_t at) {
  mode_ = mode;
  opened_ = at;
  stop_ = Stop::none;
  word_length_ = ticks_ = dots_ = 0;
  backslash_ = dollar_ = spaced_ = doubtful_ = chain_ = false;
}

// Leaves mathematics whose closing delimiter ends at `end`.
void SentenceEnds::leave_math(std::uint64_t end) {
  const bool stopped = dots_ == 1;
  enter(Mode::text, end);
  if (!stopped) return;
  stop_ = Stop::strong;
  run_ = Run::mixed;
  stop_end_ = end;
  closers_ = blanks_ = false;
}

// Both return true where the code or mathematics ended before `c`, which is then text.
bool SentenceEnds::in_code(char32_t c) {
  const bool is_inline = fence_ < 3;
  const bool over = is_inline && (unicode::is_line_break(c) || whole_ - opened_ >= kInlineLimit);
  if (c == U'`' && !over) {
    ticks_ = more(ticks_);
    return false;
  }
  const bool closed = is_inline ? ticks_ == fence_ : ticks_ >= 3;
  ticks_ = 0;
  if (!closed && !over) return false;
  enter(Mode::text, whole_);
  return true;
}

bool SentenceEnds::stopped_in_doubt() const noexcept {
  return doubtful_ && (previous_ == U'?' || (previous_ == U'.' && dots_ == 1));
}

bool SentenceEnds::in_inline_math(char32_t c, std::vector<std::uint64_t>& ends) {
  if (dollar_ && !unicode::is_ascii_digit(c)) {
    leave_math(whole_);
    return true;
  }
  if (dollar_) dots_ = 0;
  dollar_ = false;
  const bool space = unicode::is_space(c);
  if (space && stopped_in_doubt()) {
    report(whole_, ends);
    enter(Mode::text, whole_);
    return true;
  }
  if (unicode::is_line_break(c) || whole_ - opened_ >= kInlineLimit) {
    enter(Mode::text, whole_);
    return true;
  }
  const bool escaped = backslash_;
  backslash_ = c == U'\\' && !escaped;
  if (c == U'$' && !escaped && (spaced_ || !unicode::is_space(previous_))) {
    dollar_ = true;
  } else {
    dots_ = c == U'.' ? static_cast<std::uint8_t>(std::min(dots_ + 1, 2)) : std::uint8_t{0};
  }
  return false;
}

void SentenceEnds::in_block_math(char32_t c, std::uint64_t end) {
  const bool escaped = backslash_;
  const bool after_dollar = dollar_;
  backslash_ = c == U'\\' && !escaped;
  dollar_ = c == U'$' && !escaped && mode_ == Mode::display_math;
  if ((dollar_ && after_dollar) || (escaped && mode_ == Mode::paren_math && c == U')') ||
      (escaped && mode_ == Mode::bracket_math && c == U']')) {
    return leave_math(end);
  }
  if (escaped || after_dollar) dots_ = 0;
  if (c == U'.') {
    dots_ = static_cast<std::uint8_t>(std::min(dots_ + 1, 2));
  } else if (!unicode::is_space(c) && !backslash_ && !dollar_) {
    dots_ = 0;
  }
}

void SentenceEnds::in_box(char32_t c) {
  const bool escaped = backslash_;
  backslash_ = c == U'\\' && !escaped;
  if (escaped) return;
  if (c == U'{') depth_ = more(depth_);
  if (c == U'}' && --depth_ == 0) enter(Mode::text, whole_);
}

}  // namespace relaygen
