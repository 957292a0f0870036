#include "eval/symbols.h"

#include <algorithm>
#include <array>
#include <utility>

namespace relaygen::eval {
namespace {

using namespace std::string_view_literals;
using enum TokenKind;

constexpr std::array kDecorations = {
    "big"sv,         "Big"sv,       "bigg"sv,     "Bigg"sv,           "bigl"sv,      "bigr"sv,         "Bigl"sv,
    "Bigr"sv,        "biggl"sv,     "biggr"sv,    "Biggl"sv,          "Biggr"sv,     "displaystyle"sv, "textstyle"sv,
    "scriptstyle"sv, "limits"sv,    "nolimits"sv, "quad"sv,           "qquad"sv,     "boxed"sv,        "fbox"sv,
    "framebox"sv,    "mathbf"sv,    "mathit"sv,   "mathcal"sv,        "mathsf"sv,    "boldsymbol"sv,   "bm"sv,
    "vec"sv,         "hat"sv,       "bar"sv,      "widehat"sv,        "tilde"sv,     "mathop"sv,       "ensuremath"sv,
    "bf"sv,          "it"sv,        "tt"sv,       "overrightarrow"sv, "thinspace"sv, "enspace"sv,      "hfill"sv,
    "mathord"sv,     "pounds"sv,    "euro"sv,     "middle"sv,         "underline"sv, "therefore"sv,    "textdollar"sv,
    "nobreak"sv,     "allowbreak"sv};

constexpr std::array kCommands = {
    std::pair{"frac"sv, Symbol{fraction}},
    std::pair{"dfrac"sv, Symbol{fraction}},
    std::pair{"tfrac"sv, Symbol{fraction}},
    std::pair{"cfrac"sv, Symbol{fraction}},
    std::pair{"binom"sv, Symbol{binomial}},
    std::pair{"dbinom"sv, Symbol{binomial}},
    std::pair{"tbinom"sv, Symbol{binomial}},
    std::pair{"sqrt"sv, Symbol{root}},
    std::pair{"pi"sv, Symbol{constant, "pi"}},
    std::pair{"infty"sv, Symbol{constant, "infinity"}},
    std::pair{"imath"sv, Symbol{constant, "i"}},
    std::pair{"pm"sv, Symbol{plus_minus}},
    std::pair{"mp"sv, Symbol{minus_plus}},
    std::pair{"cdot"sv, Symbol{times}},
    std::pair{"times"sv, Symbol{times}},
    std::pair{"ast"sv, Symbol{times}},
    std::pair{"div"sv, Symbol{divide}},
    std::pair{"circ"sv, Symbol{degree}},
    std::pair{"degree"sv, Symbol{degree}},
    std::pair{"degrees"sv, Symbol{word, "degrees"}},
    std::pair{"prime"sv, Symbol{prime}},
    std::pair{"percent"sv, Symbol{percent}},
    std::pair{"cup"sv, Symbol{set_union}},
    std::pair{"cap"sv, Symbol{set_operation, "intersection"}},
    std::pair{"setminus"sv, Symbol{set_operation, "difference"}},
    std::pair{"backslash"sv, Symbol{set_operation, "difference"}},
    std::pair{"in"sv, Symbol{relation, "e"}},
    std::pair{"le"sv, Symbol{relation, "l"}},
    std::pair{"leq"sv, Symbol{relation, "l"}},
    std::pair{"leqslant"sv, Symbol{relation, "l"}},
    std::pair{"ge"sv, Symbol{relation, "g"}},
    std::pair{"geq"sv, Symbol{relation, "g"}},
    std::pair{"geqslant"sv, Symbol{relation, "g"}},
    std::pair{"lt"sv, Symbol{relation, "<"}},
    std::pair{"gt"sv, Symbol{relation, ">"}},
    std::pair{"approx"sv, Symbol{relation, "="}},
    std::pair{"simeq"sv, Symbol{relation, "="}},
    std::pair{"ne"sv, Symbol{relation, "n"}},
    std::pair{"neq"sv, Symbol{relation, "n"}},
    std::pair{"colon"sv, Symbol{colon}},
    std::pair{"mid"sv, Symbol{bar}},
    std::pair{"vert"sv, Symbol{bar}},
    std::pair{"lvert"sv, Symbol{open, "|"}},
    std::pair{"rvert"sv, Symbol{close, "|"}},
    std::pair{"lfloor"sv, Symbol{open, "floor"}},
    std::pair{"rfloor"sv, Symbol{close, "floor"}},
    std::pair{"lceil"sv, Symbol{open, "ceil"}},
    std::pair{"rceil"sv, Symbol{close, "ceil"}},
    std::pair{"langle"sv, Symbol{open, "<"}},
    std::pair{"rangle"sv, Symbol{close, "<"}},
    std::pair{"lbrace"sv, Symbol{open, "\\{"}},
    std::pair{"rbrace"sv, Symbol{close, "\\{"}},
    std::pair{"lbrack"sv, Symbol{open, "["}},
    std::pair{"rbrack"sv, Symbol{close, "["}},
    std::pair{"lparen"sv, Symbol{open, "("}},
    std::pair{"rparen"sv, Symbol{close, "("}},
    std::pair{"emptyset"sv, Symbol{empty_set}},
    std::pair{"varnothing"sv, Symbol{empty_set}},
    std::pair{"R"sv, Symbol{reals}},
    std::pair{"reals"sv, Symbol{reals}},
    std::pair{"land"sv, Symbol{separator, "and"}},
    std::pair{"lor"sv, Symbol{separator, "or"}},
};

constexpr std::array kCharacters = {
    std::pair{U'+', Symbol{plus}},
    std::pair{U'-', Symbol{minus}},
    std::pair{U'−', Symbol{minus}},
    std::pair{U'–', Symbol{minus}},
    std::pair{U'‐', Symbol{minus}},
    std::pair{U'±', Symbol{plus_minus}},
    std::pair{U'∓', Symbol{minus_plus}},
    std::pair{U'×', Symbol{times}},
    std::pair{U'·', Symbol{times}},
    std::pair{U'⋅', Symbol{times}},
    std::pair{U'∙', Symbol{times}},
    std::pair{U'/', Symbol{divide}},
    std::pair{U'÷', Symbol{divide}},
    std::pair{U'⁄', Symbol{divide}},
    std::pair{U'^', Symbol{power}},
    std::pair{U'_', Symbol{subscript}},
    std::pair{U'!', Symbol{factorial}},
    std::pair{U'%', Symbol{percent}},
    std::pair{U'°', Symbol{degree}},
    std::pair{U'º', Symbol{degree}},
    std::pair{U'′', Symbol{prime}},
    std::pair{U',', Symbol{separator, ","}},
    std::pair{U';', Symbol{separator, ","}},
    std::pair{U'，', Symbol{separator, ","}},
    std::pair{U'、', Symbol{separator, ","}},
    std::pair{U':', Symbol{colon}},
    std::pair{U'|', Symbol{bar}},
    std::pair{U'∣', Symbol{bar}},
    std::pair{U'=', Symbol{relation, "="}},
    std::pair{U'<', Symbol{relation, "<"}},
    std::pair{U'>', Symbol{relation, ">"}},
    std::pair{U'≤', Symbol{relation, "l"}},
    std::pair{U'⩽', Symbol{relation, "l"}},
    std::pair{U'≥', Symbol{relation, "g"}},
    std::pair{U'⩾', Symbol{relation, "g"}},
    std::pair{U'≈', Symbol{relation, "="}},
    std::pair{U'≠', Symbol{relation, "n"}},
    std::pair{U'∈', Symbol{relation, "e"}},
    std::pair{U'∪', Symbol{set_union}},
    std::pair{U'∩', Symbol{set_operation, "intersection"}},
    std::pair{U'∖', Symbol{set_operation, "difference"}},
    std::pair{U'√', Symbol{root}},
    std::pair{U'∞', Symbol{constant, "infinity"}},
    std::pair{U'π', Symbol{constant, "pi"}},
    std::pair{U'∅', Symbol{empty_set}},
    std::pair{U'ℝ', Symbol{reals}},
    std::pair{U'⌊', Symbol{open, "floor"}},
    std::pair{U'⌋', Symbol{close, "floor"}},
    std::pair{U'⌈', Symbol{open, "ceil"}},
    std::pair{U'⌉', Symbol{close, "ceil"}},
    std::pair{U'⟨', Symbol{open, "<"}},
    std::pair{U'⟩', Symbol{close, "<"}},
    std::pair{U'（', Symbol{open, "("}},
    std::pair{U'）', Symbol{close, "("}},
    std::pair{U'½', Symbol{number, "0.5"}},
    std::pair{U'¼', Symbol{number, "0.25"}},
    std::pair{U'¾', Symbol{number, "0.75"}},
    std::pair{U'⅓', Symbol{number, "0.(3)"}},
    std::pair{U'⅔', Symbol{number, "0.(6)"}},
    std::pair{U'α', Symbol{variable, "alpha"}},
    std::pair{U'β', Symbol{variable, "beta"}},
    std::pair{U'γ', Symbol{variable, "gamma"}},
    std::pair{U'δ', Symbol{variable, "delta"}},
    std::pair{U'θ', Symbol{variable, "theta"}},
    std::pair{U'λ', Symbol{variable, "lambda"}},
    std::pair{U'μ', Symbol{variable, "mu"}},
    std::pair{U'φ', Symbol{variable, "phi"}},
    std::pair{U'ω', Symbol{variable, "omega"}},
};

}  // namespace

const Symbol* find_command(std::string_view name) {
  const auto found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const auto& one) { return one.first == name; });
  return found == kCommands.end() ? nullptr : &found->second;
}

const Symbol* find_character(char32_t character) {
  const auto found =
      std::find_if(kCharacters.begin(), kCharacters.end(), [&](const auto& one) { return one.first == character; });
  return found == kCharacters.end() ? nullptr : &found->second;
}

bool is_decoration(std::string_view command) {
  return std::find(kDecorations.begin(), kDecorations.end(), command) != kDecorations.end();
}

bool is_ignored(char32_t c) {
  return c == U'€' || c == U'£' || c == U'¥' || c == U'¢' || c == U'“' || c == U'”' || c == U'’' || c == U'‘' ||
         c == U'\u200B' || c == U'\u2062' || c == U'\u2061' || c == U'\uFEFF' || c == U'。';
}

int superscript_digit(char32_t c) {
  if (c == U'²') return 2;
  if (c == U'³') return 3;
  if (c == U'¹') return 1;
  if (c == U'⁰' || (c >= U'⁴' && c <= U'⁹')) return static_cast<int>(c - U'⁰');
  return -1;
}

}  // namespace relaygen::eval
