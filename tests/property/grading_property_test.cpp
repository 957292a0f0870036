// Grading on texts made of what makes answers ambiguous, and on any bytes: it always comes to an end, knows no
// direction, and takes everything for itself.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eval/grading.h"

namespace relaygen::eval {
namespace {

const std::vector<std::string> kPieces = {"1",
                                          "2",
                                          "10",
                                          "0.5",
                                          "1,000",
                                          "x",
                                          "y",
                                          "\\pi",
                                          "+",
                                          "-",
                                          "*",
                                          "/",
                                          "^",
                                          "_",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "\\{",
                                          "\\}",
                                          ",",
                                          " ",
                                          "=",
                                          "<",
                                          "\\le",
                                          "|",
                                          "!",
                                          "%",
                                          "\\frac",
                                          "\\sqrt",
                                          "\\sin",
                                          "\\log_2",
                                          "\\pm",
                                          "\\cup",
                                          "\\text{",
                                          "cm",
                                          "\\infty",
                                          "\\in",
                                          "and",
                                          "\\circ",
                                          "$",
                                          "\\left(",
                                          "e",
                                          "i",
                                          "\\\\",
                                          "&",
                                          "\\boxed{",
                                          "\\begin{pmatrix}",
                                          "\\end{pmatrix}",
                                          "\\overline{3}",
                                          "^{2}",
                                          "√",
                                          "²",
                                          "°",
                                          "\xFF",
                                          "\\",
                                          ".",
                                          ":"};

std::string some_answer() {
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces)))
    text += piece;
  return text;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f.,;:") == std::string::npos; }

void expect_sound(const std::string& a, const std::string& b) {
  RC_ASSERT(equivalent(a, b) == equivalent(b, a));
  RC_ASSERT(equivalent(a, a) == !is_blank(a));
  for (const AnswerKind kind : {AnswerKind::math, AnswerKind::choice}) {
    const auto answer = extract_answer(a, kind);
    if (answer) RC_ASSERT(!answer->empty());
    const Grade graded = grade(a, true, b, kind);
    RC_ASSERT((graded.verdict == Verdict::no_answer) == !answer.has_value());
    RC_ASSERT(graded.answer == answer.value_or(""));
  }
}

TEST(GradingProperty, AnyBytesAreGraded) {
  EXPECT_TRUE(rc::check("bytes", [](const std::string& a, const std::string& b) { expect_sound(a, b); }));
}

TEST(GradingProperty, AnythingLikeAnAnswerIsGraded) {
  EXPECT_TRUE(rc::check("pieces", [] {
    const std::string a = some_answer();
    expect_sound(a, some_answer());
    RC_CLASSIFY(equivalent("(" + a + ")", a), "brackets do not matter");
  }));
}

TEST(GradingProperty, SpellingsOfAFractionAreOne) {
  EXPECT_TRUE(rc::check("fractions", [] {
    const int top = *rc::gen::inRange(-500, 500);
    const int bottom = *rc::gen::inRange(1, 500);
    const int factor = *rc::gen::inRange(1, 500);
    const auto text = [](int a, int b) { return "\\frac{" + std::to_string(a) + "}{" + std::to_string(b) + "}"; };
    RC_ASSERT(equivalent(text(top, bottom), text(top * factor, bottom * factor)));
    RC_ASSERT(equivalent(text(top, bottom), std::to_string(top) + "/" + std::to_string(bottom)));
    RC_ASSERT(!equivalent(text(top, bottom), text(top * factor + 1, bottom * factor)));
  }));
}

TEST(GradingProperty, SetsHaveNoOrderAndTuplesHave) {
  EXPECT_TRUE(rc::check("orders", [] {
    auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-50, 50));
    RC_PRE(numbers.size() > 1 && numbers.size() < 40);
    const auto joined = [&] {
      std::string text;
      for (const int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
      return text;
    };
    const std::string before = joined();
    const auto original = numbers;
    std::rotate(numbers.begin(), numbers.begin() + 1, numbers.end());
    RC_ASSERT(equivalent("\\{" + before + "\\}", "\\{" + joined() + "\\}"));
    RC_ASSERT(equivalent(before, joined()));
    RC_ASSERT(equivalent("(" + before + ")", "(" + joined() + ")") == (original == numbers));
  }));
}

}  // namespace
}  // namespace relaygen::eval
