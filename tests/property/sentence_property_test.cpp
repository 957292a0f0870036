// The detector against an oracle that has the whole text at hand, on texts made of little but stops, delimiters,
// white space and what makes them ambiguous.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "relaygen/sentence.h"
#include "support/sentence_oracle.h"

namespace relaygen {
namespace {

const std::vector<std::string> kPieces = {
    ".",        ".",    ".",    "!",      "?",      "…",   "。",   "！",       " ",    " ",   " ",   "\n",     "\n",
    "\n\n",     "\r\n", "\t",   "\u00A0", "\u2028", "a",   "e",    "g",        "word", "Fig", "vs",  "approx", "é",
    "3",        "14",   "2025", "-",      "#",      "*",   "(",    ")",        "]",    "}",   "\"",  "'",      "’",
    "»",        ",",    "$",    "$",      "$$",     "`",   "`",    "```",      "\\",   "\\(", "\\)", "\\[",    "\\]",
    "\\boxed{", "{",    "\\$",  "e.g.",   "5!",     "$x$", "\xFF", "\xE2\x80", "\xC2"};

std::string some_text(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)))
    text += piece;
  return text;
}

void expect_oracle(const std::string& text, Rules rules) {
  SentenceEnds detector(rules);
  std::vector<std::uint64_t> ends;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view chunk = rest.substr(0, *rc::gen::inRange<std::size_t>(1, 6));
    SentenceEnds copy = detector;
    std::vector<std::uint64_t> ignored;
    copy.feed("$x`", ignored);  // a copy does not share state
    detector.feed(chunk, ends);
    rest.remove_prefix(chunk.size());

    SentenceEnds ended = detector;
    std::vector<std::uint64_t> last;
    const auto waiting = ended.waiting();
    ended.finish(last);
    const std::string_view so_far(text.data(), text.size() - rest.size());
    const bool inside_character = oracle::inside_character(so_far);
    if (!inside_character) RC_ASSERT(last == (waiting ? std::vector{*waiting} : std::vector<std::uint64_t>{}));
  }
  RC_ASSERT(detector.position() == text.size());
  detector.finish(ends);
  RC_CLASSIFY(ends.empty(), "no end");
  RC_CLASSIFY(ends.size() > 3, "more than three ends");
  RC_ASSERT(ends == oracle::sentence_ends(text, rules));
}

// A text that goes on where another one stopped has the ends that the whole has behind that point.
TEST(SentenceEndsProperty, ATextThatGoesOnHasTheEndsOfTheWhole) {
  for (const Rules rules : {Rules::exact, Rules::published}) {
    EXPECT_TRUE(rc::check("any place", [rules] {
      const std::string before = some_text(kPieces), text = some_text(kPieces);
      SentenceEnds detector(rules);
      std::vector<std::uint64_t> past, ends;
      detector.feed(before, past);
      detector.begin_text();
      RC_ASSERT(detector.position() == 0U);
      RC_ASSERT(!detector.waiting());
      detector.feed(text, ends);
      RC_ASSERT(detector.position() == text.size());
      detector.finish(ends);
      std::vector<std::uint64_t> expected;
      for (const auto end : oracle::sentence_ends(before + text, rules)) {
        if (end > before.size()) expected.push_back(end - before.size());
      }
      RC_ASSERT(ends == expected);
    }));
  }
}

TEST(SentenceEndsProperty, AnyChunkingGivesTheOraclesEnds) {
  EXPECT_TRUE(rc::check("exact rules", [] { expect_oracle(some_text(kPieces), Rules::exact); }));
}
TEST(SentenceEndsProperty, AnyChunkingGivesTheOraclesEndsInProse) {
  const std::vector<std::string> prose = {"word", "a", " ", " ", ". ", ".",    "3",   "\n",
                                          "\n\n", "$", "x", ")", "!",  "e.g.", "Fig."};
  EXPECT_TRUE(rc::check("prose", [&] { expect_oracle(some_text(prose), Rules::exact); }));
}
TEST(SentenceEndsProperty, AnyChunkingGivesTheOraclesEndsInLongUnclosedContexts) {
  const std::vector<std::string> pieces = {"$", "`",  "``", std::string(60, 'x'), std::string(51, '.'), " . ",
                                           "5", "\\", ". "};
  EXPECT_TRUE(rc::check("long contexts", [&] { expect_oracle("$" + some_text(pieces), Rules::exact); }));
}
TEST(SentenceEndsProperty, AnyChunkingGivesTheOraclesEndsUnderThePublishedRules) {
  EXPECT_TRUE(rc::check("published rules", [] { expect_oracle(some_text(kPieces), Rules::published); }));
}

}  // namespace
}  // namespace relaygen
