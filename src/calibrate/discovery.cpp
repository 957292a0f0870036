#include "calibrate/discovery.h"

#include <algorithm>

#include "core/unicode.h"
#include "relaygen/sentence.h"

namespace relaygen::calibrate {
namespace {

constexpr std::size_t kMostOpeners = 200'000;
constexpr std::size_t kMostBytes = 40;
constexpr int kMostWords = 3;
constexpr int kMostLettersWithoutSpace = 8;  // of a script without spaces

bool closes(char32_t c) { return c == U',' || c == U':' || c == U'，' || c == U'、' || c == U'：'; }

// Scripts that put no spaces between words.
bool runs_on(char32_t c) {
  return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) || (c >= 0x0E00 && c <= 0x0EFF) ||
         (c >= 0x20000 && c <= 0x2FFFF);
}

}  // namespace

void Discovery::note(std::string_view opener, std::uint32_t problem) {
  if (opener.empty() || opener.size() > kMostBytes) return;
  auto known = openers_.find(opener);
  if (known == openers_.end()) {
    if (openers_.size() >= kMostOpeners) std::erase_if(openers_, [](const auto& one) { return one.second.count < 2; });
    if (openers_.size() >= kMostOpeners) return;
    known = openers_.emplace(std::string(opener), Counted{}).first;
  }
  ++known->second.count;
  known->second.problems.insert(problem);
}

// `rest` begins at a sentence or clause. In a clause only what a comma or colon closes is an opener: anything may follow
// a comma.
void Discovery::read_opener(std::string_view rest, bool of_sentence, std::uint32_t problem) {
  int words = 1, letters_running_on = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < rest.size() && at <= kMostBytes;) {
    const auto [c, size] = unicode::decode(rest.substr(at));
    if (size == 0) return;
    if (unicode::is_letter(c) || ((c == U'\'' || c == U'’') && in_word)) {
      in_word = true;
      if (runs_on(c) && ++letters_running_on > kMostLettersWithoutSpace) return;
    } else if (closes(c) && in_word) {
      return note(rest.substr(0, at + size), problem);
    } else if (c == U' ' && in_word && words < kMostWords) {
      if (of_sentence && letters_running_on == 0) note(rest.substr(0, at), problem);
      ++words;
      in_word = false;
    } else {
      return;
    }
    at += size;
  }
}

void Discovery::add(std::string_view thinking, std::uint32_t problem) {
  const auto read_from = [&](std::uint64_t start, bool of_sentence) {
    const auto begin = thinking.find_first_not_of(" \t\r\n", start);
    if (begin != std::string_view::npos) read_opener(thinking.substr(begin), of_sentence, problem);
  };
  std::vector<std::uint64_t> starts{0};
  SentenceEnds sentences;
  sentences.feed(thinking, starts);
  for (const std::uint64_t start : starts) read_from(start, true);
  for (std::size_t at = thinking.find_first_of(",;:"); at != std::string_view::npos;
       at = thinking.find_first_of(",;:", at + 1)) {
    if (at + 1 < thinking.size() && thinking[at + 1] == ' ') read_from(at + 1, false);
  }
}

std::vector<FoundCandidate> Discovery::frequent(std::uint32_t min_count, std::uint32_t min_problems,
                                                std::size_t most) const {
  std::vector<FoundCandidate> found;
  for (const auto& [text, counted] : openers_) {
    const auto problems = static_cast<std::uint32_t>(counted.problems.size());
    if (counted.count >= min_count && problems >= min_problems) found.push_back({text, counted.count, problems});
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.count > b.count; });
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace relaygen::calibrate
