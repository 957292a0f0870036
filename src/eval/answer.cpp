// Finding the answer in a text, and grading it.
#include <algorithm>
#include <array>
#include <vector>

#include "eval/grading.h"
#include "eval/plain_text.h"
#include "eval/words.h"

namespace relaygen::eval {
namespace {

using namespace std::string_view_literals;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Where the command that ends at `end` begins, if it is one of those that frame an answer.
bool frames_answer(std::string_view before) {
  while (!before.empty() && is_blank(before.back())) before.remove_suffix(1);
  return before.ends_with("\\boxed") || before.ends_with("\\fbox") || before.ends_with("\\framebox");
}

// The frames of a text that are closed and not empty, in the order in which they close.
std::vector<std::string_view> boxes(std::string_view text) {
  struct Brace {
    std::size_t begin;
    bool frame;
  };
  std::vector<std::string_view> found;
  std::vector<Brace> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;  // \{ and \} are no groups
    } else if (text[i] == '{') {
      open.push_back({i + 1, frames_answer(text.substr(0, i))});
    } else if (text[i] == '}' && !open.empty()) {
      const std::string_view content = trimmed(text.substr(open.back().begin, i - open.back().begin));
      if (open.back().frame && !content.empty()) found.push_back(content);
      open.pop_back();
    }
  }
  return found;
}

// The last place in `text` that equals `phrase` without case, or npos. `phrase` is lower case.
std::size_t find_last(std::string_view text, std::string_view phrase) {
  const auto found = std::find_end(text.begin(), text.end(), phrase.begin(), phrase.end(),
                                   [](char a, char b) { return lower(a) == b; });
  return phrase.empty() || found == text.end() ? std::string_view::npos
                                               : static_cast<std::size_t>(found - text.begin());
}

std::string_view without_marks(std::string_view text) {
  const auto skipped = [](char c) { return is_blank(c) || c == '*' || c == ':' || c == '_' || c == '"'; };
  while (!text.empty() && skipped(text.front())) text.remove_prefix(1);
  while (!text.empty() && skipped(text.back())) text.remove_suffix(1);
  return text;
}

// The content of the formula that `text` begins with; all of `text` where there is none.
std::string_view formula(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDelimiters{
      {{"\\(", "\\)"}, {"\\[", "\\]"}, {"$$", "$$"}, {"$", "$"}}};
  for (const auto& [open, close] : kDelimiters) {
    if (!text.starts_with(open)) continue;
    const auto end = text.find(close, open.size());
    if (end == std::string_view::npos) return text;
    // More of it behind: "$3$ and $5$"
    const std::string_view behind = trimmed(text.substr(end + close.size()));
    const bool more = behind.starts_with("and ") || behind.starts_with("or ") || behind.starts_with(",");
    if (more && behind.find_first_of("0123456789$\\") != std::string_view::npos) return text;
    const std::string_view content = trimmed(text.substr(open.size(), end - open.size()));
    return content.empty() ? text : content;
  }
  return text;
}

// Up to the end of the sentence or line.
std::string_view sentence(std::string_view text) {
  text = without_marks(text);
  if (text.starts_with("\\[") || text.starts_with("$$")) return formula(text);
  text = text.substr(0, text.find('\n'));
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && is_blank(text[i + 1])) {
      text = text.substr(0, i);
      break;
    }
  }
  while (!text.empty() && text.back() == '.') text.remove_suffix(1);
  return formula(without_marks(text));
}

// "-1,234.5", "3/4", "12%": the last one of a text.
std::optional<std::string_view> last_number(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  if (end == 0) return std::nullopt;
  std::size_t begin = end;
  const auto inside = [&](std::size_t i) {
    if (is_digit(text[i])) return true;
    return (text[i] == '.' || text[i] == ',' || text[i] == '/') && i > 0 && i + 1 < end && is_digit(text[i + 1]) &&
           (is_digit(text[i - 1]) || text[i] == '.');
  };
  while (begin > 0 && inside(begin - 1)) --begin;
  if (begin > 0 && text[begin - 1] == '-' && (begin == 1 || (!is_word(text[begin - 2]) && text[begin - 2] != ')')))
    --begin;
  if (end < text.size() && text[end] == '%') ++end;
  return text.substr(begin, end - begin);
}

// "there are 42 apples": a sentence that begins with words and holds a number means the number.
std::string_view value_in(std::string_view phrase) {
  std::size_t letters = 0;
  while (letters < phrase.size() && is_letter(phrase[letters])) ++letters;
  std::string word(phrase.substr(0, letters));
  std::transform(word.begin(), word.end(), word.begin(), lower);
  if (letters < 2 || is_function(word) || is_greek(word) || word == "pi" ||
      phrase.substr(letters).find_first_of("=(<>") <= 1)
    return phrase;
  if (const auto open = phrase.find('$');
      open != std::string_view::npos && open + 1 < phrase.size() && !is_digit(phrase[open + 1]))
    return formula(phrase.substr(open));
  if (const auto open = phrase.find("\\("); open != std::string_view::npos) return formula(phrase.substr(open));
  return last_number(phrase).value_or(phrase);
}

// What follows the last phrase that announces an answer.
std::optional<std::string_view> announced(std::string_view text) {
  std::size_t begin = 0;
  for (const std::string_view phrase : {"answer is"sv, "answer:"sv, "answer**:"sv, "answer :"sv, "####"sv}) {
    const auto at = find_last(text, phrase);
    if (at != std::string_view::npos) begin = std::max(begin, at + phrase.size());
  }
  if (begin == 0) return std::nullopt;
  const std::string_view phrase = sentence(text.substr(begin));
  if (phrase.empty()) return std::nullopt;
  return phrase;
}

std::optional<std::string> math_answer(std::string_view text) {
  if (const auto found = boxes(text); !found.empty()) return std::string(found.back());
  if (const auto phrase = announced(text)) return std::string(value_in(*phrase));
  if (const auto number = last_number(text)) return std::string(*number);
  return std::nullopt;
}

// --- options ------------------------------------------------------------------------------------------------------

// A letter at the start of what follows a phrase: "(B) because", "B because", "B".
std::optional<char> leading_letter(std::string_view text, std::size_t options) {
  std::string plain = undecorated(text);
  std::string_view rest = without_marks(plain);
  for (const std::string_view filler : {"option "sv, "choice "sv, "clearly "sv, "therefore "sv, "the letter "sv}) {
    if (find_last(rest.substr(0, filler.size()), filler) == 0) rest.remove_prefix(filler.size());
  }
  rest = without_marks(rest);
  if (rest.empty()) return std::nullopt;
  if (const auto letter = option_letter(rest, options)) return letter;
  const bool alone = rest[0] >= 'A' && rest[0] <= 'Z' && (rest.size() == 1 || !is_word(rest[1]));
  return alone ? option_letter(rest.substr(0, 1), options) : std::nullopt;
}

// The last "(B)" of a text, or a letter that is its last line.
std::optional<char> last_letter(std::string_view text, std::size_t options) {
  text = trimmed(text);
  for (std::size_t i = text.size(); i-- > 2;) {
    if (text[i] != ')' || text[i - 2] != '(' || text[i - 1] != lower(text[i - 1]) - 'a' + 'A') continue;
    if (const auto letter = option_letter(text.substr(i - 2, 3), options)) return letter;
  }
  const auto line = text.find_last_of('\n');
  const std::string plain = undecorated(line == std::string_view::npos ? text : text.substr(line));
  return option_letter(without_marks(plain), options);
}

std::optional<char> choice_letter(std::string_view text, std::size_t options) {
  const auto found = boxes(text);
  for (std::size_t i = found.size(); i-- > 0;) {
    if (const auto letter = leading_letter(found[i], options)) return letter;
  }
  std::size_t best = 0;
  std::optional<char> letter;
  for (const std::string_view phrase : {"answer is"sv, "answer:"sv, "answer**:"sv, "answer :"sv, "####"sv, "option"sv,
                                        "choice"sv, "choose"sv, "option is"sv, "choice is"sv, "answer"sv}) {
    const auto at = find_last(text, phrase);
    if (at == std::string_view::npos) continue;
    const std::size_t begin = at + phrase.size();
    const std::string_view after = text.substr(begin);
    const auto one = leading_letter(after.substr(0, after.find('\n', after.find_first_not_of(" \n*:"))), options);
    if (one && begin > best) {
      best = begin;
      letter = one;
    }
  }
  return letter ? letter : last_letter(text, options);
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::right: return "right";
    case Verdict::wrong: return "wrong";
    case Verdict::no_answer: return "no_answer";
    case Verdict::unfinished: return "unfinished";
    case Verdict::ungraded: return "ungraded";
  }
  return "";
}

std::optional<std::string> extract_answer(std::string_view text, AnswerKind kind, std::size_t options) {
  if (kind == AnswerKind::none) return std::nullopt;
  if (kind == AnswerKind::math) return math_answer(text);
  const auto letter = choice_letter(text, options);
  if (!letter) return std::nullopt;
  return std::string(1, *letter);
}

Grade grade(std::string_view answer, bool finished, std::string_view expected, AnswerKind kind, std::size_t options) {
  if (kind == AnswerKind::none) return {Verdict::ungraded, {}};
  if (!finished) return {Verdict::unfinished, {}};
  auto found = extract_answer(answer, kind, options);
  if (!found) return {Verdict::no_answer, {}};
  const bool right = kind == AnswerKind::choice
                         ? option_letter(*found, 0) == option_letter(expected, 0) && option_letter(expected, 0)
                         : equivalent(*found, expected);
  return {right ? Verdict::right : Verdict::wrong, std::move(*found)};
}

}  // namespace relaygen::eval
