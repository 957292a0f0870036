#include "support/sentence_oracle.h"

#include <utf8proc.h>

#include <algorithm>
#include <set>
#include <string>

namespace relaygen::oracle {
namespace {

using Code = utf8proc_int32_t;
constexpr Code kNothing = -2;  // before the text and after it

bool one_of(Code c, std::u32string_view set) { return c >= 0 && set.find(static_cast<char32_t>(c)) != set.npos; }
std::string category(Code c) { return c < 0 ? "Cn" : utf8proc_category_string(c); }
bool is_letter(Code c) { return category(c)[0] == 'L'; }
bool is_word(Code c) { return is_letter(c) || category(c)[0] == 'M' || category(c) == "Nd" || c == '_'; }
bool is_digit(Code c) { return c >= '0' && c <= '9'; }
bool is_break(Code c) { return one_of(c, U"\n\v\f\r\u0085\u2028\u2029"); }
bool is_space(Code c) { return category(c)[0] == 'Z' || c == '\t' || is_break(c); }
bool is_stop(Code c) { return one_of(c, U".!?…"); }
bool is_closer(Code c) { return one_of(c, U")]}\"'”’»*"); }

class Text {
 public:
  explicit Text(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      Code value = -1;
      const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                         static_cast<utf8proc_ssize_t>(text.size() - at), &value);
      codes_.push_back(size > 0 ? value : -1);
      offsets_.push_back(at);
      at += size > 0 ? static_cast<std::size_t>(size) : 1;
    }
    offsets_.push_back(text.size());
    plain_.assign(codes_.size(), true);
    for (std::size_t i = 0; i < codes_.size();) i = find_context(i);
    for (std::size_t i = 0; i <= codes_.size();) i = find_stop(i);
    find_blank_lines();
  }

  std::set<std::uint64_t> ends;

 private:
  Code at(std::size_t i) const { return i < codes_.size() ? codes_[i] : kNothing; }
  bool is_plain(std::size_t i) const { return i < codes_.size() && plain_[i]; }
  std::uint64_t bytes_between(std::size_t a, std::size_t b) const { return offsets_[b] - offsets_[a]; }
  bool spells(std::size_t i, std::u32string_view word) const {
    for (std::size_t k = 0; k < word.size(); ++k) {
      if (at(i + k) != static_cast<Code>(word[k])) return false;
    }
    return true;
  }

  // Whether the second line break of a blank line stands at i.
  bool is_blank_line(std::size_t i) const {
    if (at(i) != '\n') return false;
    for (std::size_t k = i; k-- > 0;) {
      if (at(k) == '\n') return true;
      if (!one_of(at(k), U" \t\r")) return false;
    }
    return false;
  }

  void protect(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && i < codes_.size(); ++i) plain_[i] = false;
  }

  // A full stop is the last thing of mathematics whose closing delimiter is [close, end).
  void end_of_math(std::size_t open, std::size_t close, std::size_t end, bool blanks_allowed) {
    std::size_t k = close;
    while (blanks_allowed && k > open && is_space(at(k - 1))) --k;
    if (k == open || at(k - 1) != '.') return;
    std::size_t before = k - 1;
    while (blanks_allowed && before > open && is_space(at(before - 1))) --before;
    if (before > open && at(before - 1) == '.') return;
    stops_after_math_.insert(end);
  }

  // Looks at the text character i. Returns where to go on.
  std::size_t find_context(std::size_t i) {
    const Code c = at(i);
    if (c == '\\') {
      if (at(i + 1) == '(') return block_math(i, i + 2, U"\\)");
      if (at(i + 1) == '[') return block_math(i, i + 2, U"\\]");
      if (spells(i + 1, U"boxed{")) return box(i, i + 7);
      return one_of(at(i + 1), U"\\$`") ? i + 2 : i + 1;
    }
    if (c == '`') {
      std::size_t open = i;
      while (at(open) == '`') ++open;
      return open == codes_.size() ? open : code(i, open);
    }
    if (c == '$') {
      if (at(i + 1) == '$') return block_math(i, i + 2, U"$$");
      if (i + 1 < codes_.size() && !is_break(at(i + 1)) && !one_of(at(i + 1), U".!?…。！？,;:)]}"))
        return inline_math(i, i + 1);
    }
    return i + 1;
  }

  std::size_t code(std::size_t begin, std::size_t open) {
    const std::size_t fence = std::min<std::size_t>(open - begin, 3);
    std::size_t j = open;
    while (j < codes_.size()) {
      if (fence < 3 && (is_break(at(j)) || bytes_between(open, j) >= 256)) break;
      if (is_blank_line(j)) {
        ++j;
        break;
      }
      if (at(j) != '`') {
        ++j;
        continue;
      }
      std::size_t run = 0;
      while (at(j) == '`' && (fence == 3 || bytes_between(open, j) < 256)) ++run, ++j;
      if (std::min<std::size_t>(run, 3) == fence && (fence < 3 ? run == fence : true)) break;
    }
    protect(begin, j);
    return j;
  }

  std::size_t inline_math(std::size_t begin, std::size_t open) {
    const bool spaced = is_space(at(open));
    const bool doubtful = spaced || is_digit(at(open));
    bool escaped = false;
    std::size_t j = open;
    for (; j < codes_.size(); ++j) {
      const bool one_dot = at(j - 1) == '.' && at(j - 2) != '.';
      if (doubtful && is_space(at(j)) && (at(j - 1) == '?' || one_dot)) {
        ends.insert(offsets_[j]);
        break;
      }
      if (is_break(at(j)) || bytes_between(open, j) >= 256) break;
      if (at(j) == '$' && !escaped && (spaced || !is_space(at(j - 1))) && !is_digit(at(j + 1))) {
        end_of_math(open, j, j + 1, false);
        ++j;
        break;
      }
      escaped = at(j) == '\\' && !escaped;
    }
    if (j == codes_.size() && at(j - 1) != '$' && doubtful &&
        (at(j - 1) == '?' || (at(j - 1) == '.' && at(j - 2) != '.'))) {
      ends.insert(offsets_[j]);
    }
    protect(begin, j);
    return j;
  }

  std::size_t block_math(std::size_t begin, std::size_t open, std::u32string_view close) {
    bool escaped = false;
    std::size_t j = open;
    for (; j < codes_.size(); ++j) {
      if (is_blank_line(j)) {
        protect(begin, j + 1);
        return j + 1;
      }
      if (!escaped && spells(j, close)) {
        end_of_math(open, j, j + 2, true);
        protect(begin, j + 2);
        return j + 2;
      }
      escaped = at(j) == '\\' && !escaped;
    }
    protect(begin, j);
    return j;
  }

  std::size_t box(std::size_t begin, std::size_t open) {
    int depth = 1;
    bool escaped = false;
    std::size_t j = open;
    for (; j < codes_.size() && depth > 0; ++j) {
      if (is_blank_line(j)) {
        ++j;
        break;
      }
      if (!escaped && at(j) == '{') ++depth;
      if (!escaped && at(j) == '}') --depth;
      escaped = at(j) == '\\' && !escaped;
    }
    protect(begin, j);
    return j;
  }

  // The word that ends before i, in text.
  std::u32string word_before(std::size_t i) const {
    std::u32string word;
    while (i > 0 && is_plain(i - 1) && is_word(at(i - 1))) word.insert(word.begin(), static_cast<char32_t>(at(--i)));
    return word;
  }

  bool is_single_letter(const std::u32string& word) const {
    return word.size() == 1 && is_letter(static_cast<Code>(word[0]));
  }

  bool is_abbreviation(std::size_t dot) const {
    static const std::set<std::u32string> known = {U"Fig", U"Figs", U"Eq",  U"Eqs", U"Sec",  U"vs",  U"cf",   U"approx",
                                                   U"Dr",  U"Mr",   U"Mrs", U"Ms",  U"Prof", U"al",  U"resp", U"Thm",
                                                   U"Lem", U"Prop", U"Def", U"Ex",  U"Ch",   U"Vol", U"Ref"};
    const std::u32string word = word_before(dot);
    if (known.contains(word)) return true;
    if (!is_single_letter(word) || dot < 3 || at(dot - 2) != '.' || !is_plain(dot - 2)) return false;
    return is_single_letter(word_before(dot - 2));
  }

  bool is_list_number(std::size_t dot) const {
    std::size_t k = dot;
    while (k > 0 && is_digit(at(k - 1))) --k;
    if (k == dot || dot - k > 3) return false;
    while (k > 0 && !is_break(at(k - 1))) {
      if (!is_space(at(k - 1)) && !one_of(at(k - 1), U"#-*>(")) return false;
      --k;
    }
    return true;
  }

  bool ends_line(std::size_t i) const {
    while (is_space(at(i)) && !is_break(at(i))) ++i;
    return i >= codes_.size() || is_break(at(i));
  }

  // Looks at the character i, which may begin a run of stops or follow mathematics. Returns where to go on.
  std::size_t find_stop(std::size_t i) {
    const bool after_math = stops_after_math_.contains(i);
    if (is_plain(i) && one_of(at(i), U"。！？")) ends.insert(offsets_[i + 1]);
    std::size_t j = i;
    std::u32string run;
    while (is_plain(j) && is_stop(at(j))) run += static_cast<char32_t>(at(j++));
    if (run.empty() && !after_math) return i + 1;
    std::size_t k = j;
    while (is_plain(k) && is_closer(at(k))) ++k;
    const bool follows = k >= codes_.size() || (is_plain(k) && is_space(at(k)));
    if (follows && is_end(i, run, after_math, k)) ends.insert(offsets_[k]);
    return std::max(j, i + 1);
  }

  bool is_end(std::size_t i, const std::u32string& run, bool after_math, std::size_t k) const {
    if (after_math) return true;
    if (run == U".") return !is_abbreviation(i) && (!is_list_number(i) || ends_line(k));
    if (run.find_first_not_of(U".…") == run.npos) return false;
    const std::u32string word = word_before(i);
    const bool factorial = is_digit(at(i - 1)) || is_single_letter(word);
    if (run.find_first_not_of(U"!") == run.npos && i > 0 && factorial) return ends_line(k);
    return true;
  }

  void find_blank_lines() {
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      if (!is_blank_line(i)) continue;
      const std::uint64_t end = offsets_[i + 1];
      const auto after = ends.lower_bound(end);
      const std::uint64_t last = after == ends.begin() ? 0 : *std::prev(after);
      for (std::size_t k = 0; k < i; ++k) {
        if (offsets_[k] >= last && !is_space(at(k))) ends.insert(end);
      }
    }
  }

  std::vector<Code> codes_;
  std::vector<std::uint64_t> offsets_;  // of each character, and the size of the text
  std::vector<bool> plain_;             // neither code nor mathematics nor box
  std::set<std::size_t> stops_after_math_;
};

}  // namespace

std::vector<std::uint64_t> sentence_ends(std::string_view text, Rules rules) {
  if (rules == Rules::published) {
    std::vector<std::uint64_t> ends;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '.' || text[i] == '!' || text[i] == '?' || (i > 0 && text.substr(i - 1, 2) == "\n\n"))
        ends.push_back(i + 1);
    }
    return ends;
  }
  const Text parsed(text);
  return {parsed.ends.begin(), parsed.ends.end()};
}

bool inside_character(std::string_view text) {
  // It ends inside a character if some bytes would complete one that the text begins.
  for (std::size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    for (const std::string_view rest :
         {"\x80", "\xA0", "\x90", "\x80\x80", "\xA0\x80", "\x90\x80", "\x80\x80\x80", "\x90\x80\x80"}) {
      const std::string whole = std::string(text.substr(text.size() - size)) + std::string(rest);
      Code value = -1;
      const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(whole.data()),
                                         static_cast<utf8proc_ssize_t>(whole.size()), &value);
      if (used == static_cast<utf8proc_ssize_t>(whole.size())) return true;
    }
  }
  return false;
}

}  // namespace relaygen::oracle
