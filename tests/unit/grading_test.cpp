#include "eval/grading.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/numerals.h"
#include "eval/plain_text.h"
#include "eval/rational.h"

namespace relaygen::eval {
namespace {

struct LabelledPair {
  std::string given, expected;
  bool same = false;
};

std::vector<LabelledPair> labelled_pairs() {
  std::vector<LabelledPair> pairs;
  std::ifstream file(RELAYGEN_SOURCE_DIR "/tests/data/grading_pairs.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    pairs.push_back({json["given"], json["expected"], json["same"]});
  }
  return pairs;
}

// --- equivalence --------------------------------------------------------------------------------------------------

TEST(Equivalence, EveryLabelledPairComesOutAsLabelled) {
  const auto pairs = labelled_pairs();
  ASSERT_GE(pairs.size(), 400u);
  for (const auto& [given, expected, same] : pairs) {
    EXPECT_EQ(equivalent(given, expected), same) << given << "   against   " << expected;
    EXPECT_EQ(equivalent(expected, given), same) << expected << "   against   " << given;
    EXPECT_TRUE(equivalent(given, given)) << given;
  }
}

TEST(Equivalence, NothingIsTheSameAsNothing) {
  EXPECT_FALSE(equivalent("", ""));
  EXPECT_FALSE(equivalent("", "0"));
  EXPECT_FALSE(equivalent(" ", " "));
  EXPECT_FALSE(equivalent("$$", "{}"));
}

TEST(Equivalence, LongIntegersAreComparedByTheirDigits) {
  const std::string nines(3000, '9');
  EXPECT_TRUE(equivalent(nines, "0" + nines));
  EXPECT_FALSE(equivalent(nines, nines.substr(1)));
  EXPECT_FALSE(equivalent(nines + "1", nines + "2"));
}

TEST(Equivalence, NumbersTooBigToBuildAreComparedAsTheyAreWritten) {
  EXPECT_TRUE(equivalent("10^{10^{10}}", "10^{10^{10}} "));
  EXPECT_TRUE(equivalent("$9^{9^{9^9}}$", "9^{9^{9^{9}}}"));
  EXPECT_FALSE(equivalent("9^{9^{9^9}}", "9^{9^{9^8}}"));
  EXPECT_FALSE(equivalent("1000000!", "1000001!"));
  EXPECT_FALSE(equivalent("\\binom{1000000}{500000}", "\\binom{1000000}{400000}"));
}

TEST(Equivalence, HostileInputEndsSoon) {
  const auto repeated = [](std::string_view piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
  };
  const std::vector<std::string> texts = {
      repeated("(", 4000),       repeated("{", 100000),     repeated("\\sqrt", 800),    repeated("-", 4000),
      repeated("1,", 2000),      repeated("\\frac", 800),   repeated("9^", 2000),       repeated("\\sin", 1000),
      repeated("400!", 1000),    repeated("7^{99}+", 500),  repeated("|", 4000),        repeated("x+", 2000),
      repeated("\\boxed{", 900), repeated("\\text{", 600),  repeated("a_", 2000),       repeated("5!", 2000),
      repeated("\\pm1,", 800),   repeated("x^{9}y+", 500),  repeated("\\{1,", 900),     repeated("1/", 2000),
      repeated("!", 4000),       repeated("\\left|x", 500), repeated("2^{-1}", 600),    "5" + repeated("!", 4000),
      repeated("(1,2),", 600),   repeated("x=", 2000),      repeated("\\cup(1,2)", 400)};
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& one : texts) {
    for (const std::string& other : {one + "1", one + "2", std::string("3")}) (void)equivalent(one + "1", other);
    for (const AnswerKind kind : {AnswerKind::math, AnswerKind::choice}) (void)extract_answer(one, kind);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

// --- extraction ---------------------------------------------------------------------------------------------------

struct Extraction {
  std::string text, answer;
};

TEST(Extraction, FindsTheAnswerOfMathematics) {
  const std::vector<Extraction> cases = {
      {"So it is \\boxed{42}.", "42"},
      {"\\boxed{1} and then \\boxed{2}", "2"},
      {"\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"},
      {"\\boxed{\\{1, 2\\}}", "\\{1, 2\\}"},
      {"\\boxed{7} and \\boxed{8", "7"},
      {"\\boxed{7} and \\boxed{}", "7"},
      {"$\\fbox{7}$", "7"},
      {"\\framebox{7}", "7"},
      {"\\boxed {7}", "7"},
      {"\\boxed{ 7 }", "7"},
      {"{ \\boxed{7} {", "7"},
      {"\\boxed{\\text{(B)}}", "\\text{(B)}"},
      {"The answer is 42.", "42"},
      {"the answer is: $\\frac12$.", "\\frac12"},
      {"The final answer is \\( x = 3 \\).", "x = 3"},
      {"**Answer:** 42", "42"},
      {"Answer: $3$ and $5$", "$3$ and $5$"},
      {"Answer:\n\n\\[ 17 \\]", "17"},
      {"The answer is 3.5. That is all.", "3.5"},
      {"The answer is that there are 42 apples.", "42"},
      {"The answer is east.", "east"},
      {"The answer is 1. No: the answer is 2", "2"},
      {"12 + 30 = 42\n#### 42", "42"},
      {"#### 1,234", "1,234"},
      {"She pays $1,234.50 in all", "1,234.50"},
      {"first 3, then -4", "-4"},
      {"7-3", "3"},
      {"it is 3/4 of them", "3/4"},
      {"so 25% of it", "25%"},
      {"in 2024, 17 of them.", "17"},
      {"#### 7 $$$$", "7 $$$$"},
  };
  for (const auto& [text, answer] : cases) EXPECT_EQ(extract_answer(text, AnswerKind::math), answer) << text;
}

TEST(Extraction, FindsNothingWhereNothingIs) {
  for (const std::string text : {"", "no idea", "\\boxed{", "\\boxed{}", "the answer is"}) {
    EXPECT_EQ(extract_answer(text, AnswerKind::math), std::nullopt) << text;
  }
  EXPECT_EQ(extract_answer("\\boxed{12}", AnswerKind::choice), std::nullopt);
  EXPECT_EQ(extract_answer("A man walks.", AnswerKind::choice), std::nullopt);
  EXPECT_EQ(extract_answer("\\boxed{E}", AnswerKind::choice, 4), std::nullopt);
  EXPECT_EQ(extract_answer("\\boxed{12}", AnswerKind::none), std::nullopt);
}

TEST(Extraction, FindsTheLetterOfAChoice) {
  for (const std::string text : {"\\boxed{B}",
                                 "\\boxed{\\text{(B)}}",
                                 "\\boxed{(B)}",
                                 "\\boxed{\\textbf{B}}",
                                 "\\boxed{B. 12}",
                                 "\\boxed{B) 12}",
                                 "\\boxed{\\text{B: } 12}",
                                 "\\boxed{b}",
                                 "\\boxed{\\text{Option B}}",
                                 "The answer is B.",
                                 "The answer is (B) because",
                                 "the answer is **B**",
                                 "**Answer: B**",
                                 "Answer: (B)",
                                 "Answer: B) 12 apples",
                                 "The correct option is B.",
                                 "I choose option B because it fits.",
                                 "The correct choice is (B).",
                                 "#### B",
                                 "B",
                                 "(B)",
                                 "B.",
                                 "**B**",
                                 "It fits.\n\nB",
                                 "Since A fails, we are left with (B).",
                                 "(A) is wrong, thus (B)",
                                 "The answer is option B",
                                 "Answer:\nB",
                                 "\\boxed{12} which is option B",
                                 "The answer is $\\text{B}$."}) {
    EXPECT_EQ(extract_answer(text, AnswerKind::choice, 4), "B") << text;
  }
}

// --- grades -------------------------------------------------------------------------------------------------------

TEST(Grades, SayWhatIsWrong) {
  const auto verdict = [](std::string_view answer, bool finished, std::string_view expected,
                          AnswerKind kind = AnswerKind::math) {
    return grade(answer, finished, expected, kind).verdict;
  };
  EXPECT_EQ(verdict("It is \\boxed{0.5}", true, "\\frac{1}{2}"), Verdict::right);
  EXPECT_EQ(verdict("It is \\boxed{0.6}", true, "\\frac{1}{2}"), Verdict::wrong);
  EXPECT_EQ(verdict("I do not know", true, "\\frac{1}{2}"), Verdict::no_answer);
  EXPECT_EQ(verdict("It is \\boxed{0.5}", false, "\\frac{1}{2}"), Verdict::unfinished);
  EXPECT_EQ(verdict("Dear all,", true, "", AnswerKind::none), Verdict::ungraded);
  EXPECT_EQ(verdict("The answer is (C).", true, "C", AnswerKind::choice), Verdict::right);
  EXPECT_EQ(verdict("The answer is (C).", true, "(C)", AnswerKind::choice), Verdict::right);
  EXPECT_EQ(verdict("The answer is (C).", true, "D", AnswerKind::choice), Verdict::wrong);
  EXPECT_EQ(grade("It is \\boxed{0.5}", true, "2", AnswerKind::math).answer, "0.5");
  EXPECT_TRUE(is_right(Verdict::right));
  EXPECT_FALSE(is_right(Verdict::ungraded));
  EXPECT_EQ(name(Verdict::no_answer), "no_answer");
}

// --- parts --------------------------------------------------------------------------------------------------------

TEST(Numerals, AreReadAsPeopleWriteThem) {
  const auto digits = [](std::string_view text) { return read_numeral(text, Commas::may_group).digits; };
  EXPECT_EQ(digits("1,234"), "1234");
  EXPECT_EQ(digits("1,2345"), "1");
  EXPECT_EQ(digits("1,234,5"), "1");
  EXPECT_EQ(digits("1{,}234.50"), "1234.5");
  EXPECT_EQ(digits("1, 234"), "1");
  EXPECT_EQ(digits("0123"), "123");
  EXPECT_EQ(digits("1234,567"), "1234");
  EXPECT_EQ(digits(".5"), "0.5");
  EXPECT_EQ(digits("5."), "5");
  EXPECT_EQ(read_numeral("1,234", Commas::separate).digits, "1");
  EXPECT_EQ(read_numeral("1e-5", Commas::may_group).exponent, "-5");
  EXPECT_EQ(read_numeral("1e", Commas::may_group).size, 1u);
}

TEST(Rationals, AreExactOrTooBig) {
  const Rational third = *parse_decimal("0.(3)");
  EXPECT_TRUE(*equal(third, invert(rational(3))));
  EXPECT_TRUE(*equal(*add(third, *add(third, third)), rational(1)));
  EXPECT_TRUE(*equal(*parse_decimal("12.50"), *multiply(rational(25), invert(rational(2)))));
  EXPECT_TRUE(*equal(*add(rational(-3), rational(3)), negate(rational(0))));
  EXPECT_TRUE(*equal(*power(rational(-2), -3), invert(rational(-8))));
  EXPECT_FALSE(*equal(rational(2), rational(-2)));
  EXPECT_FALSE(power(rational(2), 4000));
  EXPECT_TRUE(*equal(*power(rational(-1), 1'000'000'001), rational(-1)));
  EXPECT_FALSE(parse_decimal(std::string(700, '9')));
  EXPECT_EQ(small_fraction(*multiply(rational(-6), invert(rational(4))))->numerator, -3);
}

TEST(PlainText, KeepsWhatMatters) {
  EXPECT_EQ(bare_text("\\text{No Solution}."), "nosolution");
  EXPECT_EQ(bare_text("1 2"), "1 2");
  EXPECT_EQ(bare_text("\\frac{1}{12}"), "\\frac{1}{12}");
  EXPECT_EQ(option_letter("(B) 12", 4), 'B');
  EXPECT_EQ(option_letter("B. 12", 0), 'B');
  EXPECT_EQ(option_letter("Because", 0), std::nullopt);
  EXPECT_EQ(option_letter("A, B", 0), std::nullopt);
  EXPECT_EQ(option_letter("(1)", 0), std::nullopt);
}

}  // namespace
}  // namespace relaygen::eval
