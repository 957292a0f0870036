#include "eval/plain_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include "eval/words.h"

namespace relaygen::eval {
namespace {

using namespace std::string_view_literals;

constexpr std::array kWrappers = {"text"sv,   "mbox"sv,   "textbf"sv, "textit"sv,       "textrm"sv, "mathrm"sv,
                                  "mathbf"sv, "mathit"sv, "hbox"sv,   "operatorname"sv, "boxed"sv,  "textnormal"sv,
                                  "fbox"sv,   "texttt"sv, "mathsf"sv, "emph"sv};
constexpr std::array kEmpty = {"left"sv,  "right"sv,     "displaystyle"sv, "quad"sv,
                               "qquad"sv, "textstyle"sv, "rm"sv,           "bf"sv};
constexpr std::size_t kUsualOptions = 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// One name for commands that only look different.
std::string_view usual(std::string_view command) {
  if (command == "dfrac" || command == "tfrac" || command == "cfrac") return "frac";
  if (command == "le" || command == "leqslant") return "leq";
  if (command == "ge" || command == "geqslant") return "geq";
  if (command == "ne") return "neq";
  return command;
}

class Stripper {
 public:
  explicit Stripper(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\') {
        command();
      } else if (c == '{' || c == '}') {
        brace(c);
      } else {
        if (is_blank(c) || c == '~') {
          blank();
        } else if (c != '$' && c != '*') {
          result_ += c;
        }
        ++at_;
      }
    }
    while (!result_.empty() && result_.back() == ' ') result_.pop_back();
    return std::move(result_);
  }

 private:
  void blank() {
    if (!result_.empty() && result_.back() != ' ') result_ += ' ';
  }

  void brace(char c) {
    ++at_;
    if (c == '{') return keep('{', '}');
    const char close = open_.empty() ? '}' : open_.back();
    if (!open_.empty()) open_.pop_back();
    if (close != 0) result_ += c;
  }

  void keep(char c, char close) {
    open_.push_back(close);
    result_ += c;
  }

  void command() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    if (name.empty()) {
      const char c = end < text_.size() ? text_[end] : ' ';
      at_ = std::min(end + 1, text_.size());
      if (c == '%' || c == '{' || c == '}' || c == '\\' || c == '&' || c == '#' || c == '_') {
        (result_ += '\\') += c;
      } else if (c != '!' && c != '$') {
        blank();
      }
    } else if (contains(kWrappers, name) && end < text_.size() && text_[end] == '{') {
      open_.push_back(0);
      at_ = end + 1;
    } else {
      if (!contains(kEmpty, name)) (result_ += '\\') += usual(name);
      at_ = end;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;  // what closes each open brace; 0: nothing, it belongs to a wrapper
  std::string result_;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string undecorated(std::string_view text) { return Stripper(text).run(); }

std::string bare_text(std::string_view text) {
  const std::string plain = undecorated(text);
  std::string bare;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const bool between_digits =
        i > 0 && i + 1 < plain.size() && is_digit(plain[i + 1]) && (is_digit(plain[i - 1]) || plain[i - 1] == ',');
    if ((c == ' ' && !between_digits) || c == '"' || c == '\'' || c == '`') continue;
    bare += lower(c);
  }
  while (!bare.empty() && (bare.back() == '.' || bare.back() == ',')) bare.pop_back();
  return bare;
}

std::optional<char> option_letter(std::string_view text, std::size_t options) {
  std::string plain = undecorated(text);
  std::string_view rest = plain;
  for (const std::string_view prefix : {"option "sv, "choice "sv, "answer "sv}) {
    if (rest.size() > prefix.size() &&
        std::equal(prefix.begin(), prefix.end(), rest.begin(), [](char a, char b) { return a == lower(b); })) {
      rest.remove_prefix(prefix.size());
    }
  }
  const bool bracket = rest.starts_with('(') || rest.starts_with('[');
  if (bracket) rest = trimmed(rest.substr(1));
  if (rest.empty() || !is_letter(rest[0])) return std::nullopt;
  const char letter = static_cast<char>(lower(rest[0]) - 'a' + 'A');
  if (static_cast<std::size_t>(letter - 'A') >= (options == 0 ? kUsualOptions : std::min<std::size_t>(options, 26)))
    return std::nullopt;
  rest = trimmed(rest.substr(1));
  if (rest.empty()) return bracket ? std::nullopt : std::optional(letter);
  const char next = rest[0];
  const bool closed = next == ')' || next == ']' || (!bracket && (next == '.' || next == ':'));
  if (!closed) return std::nullopt;
  if (next == ')' || next == ']') return letter;
  const std::string_view after = rest.substr(1);  // "e.g." is no option
  return after.empty() || after[0] == ' ' ? std::optional(letter) : std::nullopt;
}

}  // namespace relaygen::eval
