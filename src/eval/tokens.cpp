// A lexer that forgives. What only decorates (\left, \displaystyle, $, spaces, currency) leaves no token; names for
// people inside \text{} and outside become words; runs of letters are functions, Greek letters, words or products.
#include "eval/tokens.h"

#include <algorithm>
#include <array>

#include "core/unicode.h"
#include "eval/numerals.h"
#include "eval/symbols.h"
#include "eval/words.h"

namespace relaygen::eval {
namespace {

constexpr std::size_t kWordLetters = 4;  // a run of so many letters is no product

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return unicode::is_ascii_letter(static_cast<unsigned char>(c)); }
bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string lowered(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::optional<std::vector<Token>> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c) || c == '~') {
        spaced_ = true;
        ++at_;
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else if (is_letter(c)) {
        letters();
      } else if (c == '\\') {
        if (!command()) return std::nullopt;
      } else if (static_cast<unsigned char>(c) < 0x80) {
        if (!punctuation(c)) return std::nullopt;
      } else if (!beyond_ascii()) {
        return std::nullopt;
      }
    }
    add(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text = {}) {
    if (kind == TokenKind::open && text != "{") ++depth_;
    if (kind == TokenKind::close && text != "{" && depth_ > 0) --depth_;
    tokens_.push_back({kind, std::move(text), spaced_, false});
    spaced_ = false;
    attached_ = at_;
  }

  void number() {
    const bool listed = depth_ > 0 || (at_ > 0 && text_[at_ - 1] == ',');  // "27,108,135" is a list
    const Numeral numeral = read_numeral(text_.substr(at_), listed ? Commas::separate : Commas::may_group);
    number_begin_ = at_;
    at_ += numeral.size;
    add(TokenKind::number, numeral.digits);
    tokens_.back().plain = numeral.plain;
    if (numeral.exponent.empty()) return;
    add(TokenKind::times);
    add(TokenKind::number, "10");
    add(TokenKind::power);
    add(TokenKind::open, "{");
    if (numeral.exponent.starts_with('-')) add(TokenKind::minus);
    add(TokenKind::number,
        canonical_digits(std::string_view(numeral.exponent).substr(numeral.exponent.find_first_of("0123456789"))));
    add(TokenKind::close, "{");
  }

  [[nodiscard]] bool after_number() const {
    return !tokens_.empty() && (tokens_.back().kind == TokenKind::number || tokens_.back().kind == TokenKind::close);
  }

  // "3.2 x 10^5"
  bool times_as_letter(std::string_view run) {
    if ((run != "x" && run != "X") || !after_number() || tokens_.back().kind != TokenKind::number) return false;
    const auto next = text_.find_first_not_of(" {", at_);
    if (next == std::string_view::npos) return false;
    const std::string_view rest = text_.substr(next);
    if (!rest.starts_with("10^") && !rest.starts_with("10*") && !rest.starts_with("10}")) return false;
    add(TokenKind::times);
    return true;
  }

  void letters() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view run = text_.substr(begin, at_ - begin);
    if (times_as_letter(run)) return;
    const bool unit_position = after_number();
    const bool touches = unit_position && !spaced_ && begin == attached_;
    const std::string word = lowered(run);
    if (unit_position && is_unit(word) && run.size() > 1) return add(TokenKind::word, word);
    if (named(word)) return;
    if (text_mode_ || is_short_word(word) || (run.size() >= kWordLetters && !touches)) {
      if (text_mode_ && run.size() == 1 && math_letters_) return letter(run[0]);
      return add(TokenKind::word, word);
    }
    split(run);
  }

  // Runs of letters that stand for one thing, wherever they are.
  bool named(const std::string& word) {
    if (word == "and" || word == "or") {
      add(TokenKind::separator, word);
      tokens_.back().plain = true;
    } else if (word == "pi" || word == "infinity") {
      add(TokenKind::constant, word);
    } else if (word == "infty" || word == "inf") {
      add(TokenKind::constant, "infinity");
    } else if (is_function(word)) {
      add(TokenKind::function, word);
    } else if (is_greek(word) && !text_mode_) {
      add(TokenKind::variable, word);
    } else {
      return false;
    }
    return true;
  }

  // "2xsin" is no word: a function may end a product.
  void split(std::string_view run) {
    while (!run.empty()) {
      const std::string rest = lowered(run);
      if (run.size() > 1 && (is_function(rest) || rest == "pi")) {
        add(rest == "pi" ? TokenKind::constant : TokenKind::function, rest);
        return;
      }
      letter(run[0]);
      run.remove_prefix(1);
    }
  }

  void letter(char c) {
    const bool constant = c == 'e' || c == 'i';
    add(constant ? TokenKind::constant : TokenKind::variable, std::string(1, c));
  }

  // The content of the braces at at_, which are left behind. Nothing: there are none.
  std::optional<std::string_view> braces() {
    std::size_t begin = at_;
    while (begin < text_.size() && is_blank(text_[begin])) ++begin;
    if (begin == text_.size() || text_[begin] != '{') return std::nullopt;
    int depth = 0;
    for (std::size_t i = begin; i < text_.size(); ++i) {
      if (text_[i] == '{') ++depth;
      if (text_[i] == '}' && --depth == 0) {
        at_ = i + 1;
        return text_.substr(begin + 1, i - begin - 1);
      }
    }
    return std::nullopt;
  }

  bool command() {
    const std::size_t begin = at_;
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    if (end == at_ + 1) {
      if (end < text_.size()) ++end;
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end;
      return symbol_command(name.substr(1));
    }
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    if (name == "text" || name == "mbox" || name == "textbf" || name == "textit" || name == "textrm" ||
        name == "textnormal" || name == "hbox" || name == "texttt") {
      return text_group(TokenKind::word);
    }
    if (name == "mathrm" || name == "operatorname" || name == "rm") return text_group(TokenKind::variable);
    if (name == "mathbb") {
      const auto set = braces();
      if (!set || *set != "R") return false;
      add(TokenKind::reals);
      return true;
    }
    if (name == "begin") return begin_environment();
    if (name == "end") {
      (void)braces();
      add(TokenKind::close, "matrix");
      return true;
    }
    if (name == "left" || name == "right") return delimiter(name == "left" ? "open" : "close");
    if (is_decoration(name)) {
      spaced_ = spaced_ || name == "quad" || name == "qquad";
      return true;
    }
    if (name == "overline" || name == "dot") return repeating(begin);
    return symbol(find_command(name), name);
  }

  bool symbol(const Symbol* found, std::string_view name) {
    if (found != nullptr) {
      add(found->kind, std::string(found->text));
      return true;
    }
    if (is_function(name) || is_greek(name)) {
      add(is_function(name) ? TokenKind::function : TokenKind::variable, std::string(name));
      return true;
    }
    // \Delta and the like: a capital Greek letter.
    const std::string small = lowered(name);
    if (!is_greek(small)) return false;
    add(TokenKind::variable, std::string(name));
    return true;
  }

  bool symbol_command(std::string_view name) {
    if (name == "{" || name == "}") {
      add(name == "{" ? TokenKind::open : TokenKind::close, "\\{");
    } else if (name == "%") {
      add(TokenKind::percent);
    } else if (name == "\\") {
      add(TokenKind::row);
    } else if (name == "|" || name == "&" || name == "#") {
      return false;
    } else {
      spaced_ = true;  // \, \; \! \: \$ \( \) \[ \] and a backslash before a space
    }
    return true;
  }

  // \left( and \right): only bars need to know on which side they are.
  bool delimiter(std::string_view side) {
    if (at_ < text_.size() && text_[at_] == '|') {
      ++at_;
      add(side == "open" ? TokenKind::open : TokenKind::close, "|");
    } else if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
    }
    return true;
  }

  // Inside, runs of letters are words. `single` tells what single letters are.
  bool text_group(TokenKind single) {
    const auto content = braces();
    if (!content) return true;  // \mathrm x
    Lexer inner(*content);
    inner.text_mode_ = true;
    inner.math_letters_ = single == TokenKind::variable && (*content == "e" || *content == "i" || *content == "d");
    inner.tokens_ = std::move(tokens_);
    inner.depth_ = depth_;
    inner.spaced_ = true;
    const std::size_t before = inner.tokens_.size();
    auto tokens = inner.run();
    if (!tokens) return false;
    tokens_ = std::move(*tokens);
    tokens_.pop_back();
    depth_ = inner.depth_;
    spaced_ = tokens_.size() == before;
    return true;
  }

  bool begin_environment() {
    const auto name = braces();
    if (!name) return false;
    if (*name == "array") {
      (void)braces();
    } else if (*name != "pmatrix" && *name != "bmatrix" && *name != "matrix" && *name != "smallmatrix" &&
               *name != "Bmatrix") {
      return false;
    }
    add(TokenKind::open, "matrix");
    return true;
  }

  // 0.1\overline{6}, 0.\dot{3}: `command` is where the command begins. Over anything else it only decorates.
  bool repeating(std::size_t command) {
    if (tokens_.empty() || tokens_.back().kind != TokenKind::number || attached_ != command) return true;
    const std::string_view written = text_.substr(number_begin_, command - number_begin_);
    const auto point = written.find('.');
    if (point == std::string_view::npos) return true;
    auto period = braces();
    if (!period && at_ < text_.size() && is_digit(text_[at_])) period = text_.substr(at_++, 1);
    if (!period || period->empty() || !std::all_of(period->begin(), period->end(), is_digit)) return false;
    std::string& digits = tokens_.back().text;  // canonical: without the trailing zeros, which count here
    digits = digits.substr(0, digits.find('.'));
    digits.append(written.substr(point)).append("(").append(*period).append(")");
    return true;
  }

  bool punctuation(char c) {
    ++at_;
    switch (c) {
      case '$':
      case '\'':
      case '"':
      case '`':
        if (c == '\'' && after_name()) add(TokenKind::prime);
        spaced_ = spaced_ || c == '$';
        return true;
      case '(':
      case '[':
      case '{': add(TokenKind::open, std::string(1, c)); return true;
      case ')': add(TokenKind::close, "("); return true;
      case ']': add(TokenKind::close, "["); return true;
      case '}': add(TokenKind::close, "{"); return true;
      case '*':
        if (at_ < text_.size() && text_[at_] == '*') {
          ++at_;
          add(TokenKind::power);
        } else {
          add(TokenKind::times);
        }
        return true;
      case '&': add(TokenKind::cell); return true;
      case '.':
        return at_ == text_.size() || is_blank(text_[at_]) || text_mode_ || tokens_.empty() ||
               tokens_.back().kind == TokenKind::word;
      default: break;
    }
    const char next = at_ < text_.size() ? text_[at_] : ' ';
    if (next == '=' && (c == '<' || c == '>' || c == '!' || c == '=')) {
      ++at_;
      add(TokenKind::relation, c == '<' ? "l" : c == '>' ? "g" : c == '!' ? "n" : "=");
      return true;
    }
    const Symbol* found = find_character(static_cast<unsigned char>(c));
    if (found == nullptr) return false;
    add(found->kind, std::string(found->text));
    return true;
  }

  [[nodiscard]] bool after_name() const {
    return !tokens_.empty() && !spaced_ && tokens_.back().kind == TokenKind::variable;
  }

  bool beyond_ascii() {
    const auto decoded = unicode::decode(text_.substr(at_));
    if (decoded.size == 0 || decoded.character == unicode::kInvalid) return false;
    const std::size_t begin = at_;
    at_ += decoded.size;
    const char32_t c = decoded.character;
    if (unicode::is_space(c) || is_ignored(c)) {
      spaced_ = true;
      return true;
    }
    if (const int digit = superscript_digit(c); digit >= 0) {
      add(TokenKind::power);
      add(TokenKind::number, std::string(1, static_cast<char>('0' + digit)));
      return true;
    }
    if (const Symbol* found = find_character(c)) {
      add(found->kind, std::string(found->text));
      return true;
    }
    if (!unicode::is_letter(c)) return false;
    add(TokenKind::word, std::string(text_.substr(begin, decoded.size)));
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t attached_ = 0;      // where the newest token ends
  std::size_t number_begin_ = 0;  // of the newest number
  std::size_t depth_ = 0;         // of brackets, without braces
  bool spaced_ = false;
  bool text_mode_ = false;
  bool math_letters_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::optional<std::vector<Token>> tokenize(std::string_view text) {
  if (text.size() > kMaxAnswerBytes) return std::nullopt;
  return Lexer(text).run();
}

}  // namespace relaygen::eval
