#include "eval/words.h"

#include <algorithm>
#include <array>

namespace relaygen::eval {
namespace {

using namespace std::string_view_literals;

constexpr std::array kUnits = {
    "am"sv,     "bits"sv,    "bytes"sv,  "cc"sv,         "cent"sv,    "cents"sv,   "centimeters"sv, "cm"sv,
    "cms"sv,    "cu"sv,      "day"sv,    "days"sv,       "deg"sv,     "degree"sv,  "degrees"sv,     "dm"sv,
    "dollar"sv, "dollars"sv, "euros"sv,  "feet"sv,       "foot"sv,    "ft"sv,      "gal"sv,         "gallons"sv,
    "gram"sv,   "grams"sv,   "hour"sv,   "hours"sv,      "hr"sv,      "hrs"sv,     "hz"sv,          "inch"sv,
    "inches"sv, "kg"sv,      "kgs"sv,    "kilometers"sv, "km"sv,      "kmh"sv,     "kph"sv,         "kwh"sv,
    "lb"sv,     "lbs"sv,     "liters"sv, "litres"sv,     "meter"sv,   "meters"sv,  "metres"sv,      "mg"sv,
    "mi"sv,     "mile"sv,    "miles"sv,  "min"sv,        "mins"sv,    "minute"sv,  "minutes"sv,     "ml"sv,
    "mm"sv,     "month"sv,   "months"sv, "mph"sv,        "oz"sv,      "percent"sv, "pm"sv,          "points"sv,
    "pounds"sv, "radians"sv, "rad"sv,    "sec"sv,        "seconds"sv, "secs"sv,    "sq"sv,          "ton"sv,
    "tons"sv,   "units"sv,   "unit"sv,   "usd"sv,        "week"sv,    "weeks"sv,   "yards"sv,       "yd"sv,
    "yds"sv,    "year"sv,    "years"sv,  "yr"sv,         "yrs"sv};

constexpr std::array kShortWords = {
    "all"sv, "any"sv, "are"sv, "boy"sv,  "box"sv, "bus"sv, "car"sv, "cat"sv, "cow"sv, "cup"sv, "dne"sv,
    "dog"sv, "egg"sv, "for"sv, "hen"sv,  "hot"sv, "if"sv,  "in"sv,  "is"sv,  "it"sv,  "kid"sv, "man"sv,
    "men"sv, "new"sv, "no"sv,  "of"sv,   "odd"sv, "on"sv,  "one"sv, "per"sv, "pie"sv, "red"sv, "six"sv,
    "sum"sv, "ten"sv, "the"sv, "tie"sv,  "to"sv,  "two"sv, "way"sv, "yes"sv, "won"sv, "win"sv, "fri"sv,
    "mon"sv, "not"sv, "sat"sv, "sun"sv,  "thu"sv, "tue"sv, "wed"sv, "bag"sv, "pen"sv, "set"sv, "day"sv,
    "ago"sv, "old"sv, "due"sv, "east"sv, "at"sv,  "by"sv,  "as"sv,  "an"sv,  "we"sv,  "so"sv};

constexpr std::array kFillers = {"about"sv, "approx"sv, "approximately"sv, "around"sv, "exactly"sv,
                                 "is"sv,    "nearly"sv, "only"sv,          "roughly"sv};

constexpr std::array kConditions = {"but"sv, "except"sv, "if"sv, "not"sv, "otherwise"sv, "unless"sv, "when"sv};

constexpr std::array kFunctions = {"abs"sv,  "acos"sv, "arccos"sv, "arccot"sv, "arcsin"sv, "arctan"sv, "asin"sv,
                                   "atan"sv, "cbrt"sv, "cos"sv,    "cosh"sv,   "cot"sv,    "csc"sv,    "exp"sv,
                                   "gcd"sv,  "lcm"sv,  "lg"sv,     "ln"sv,     "log"sv,    "max"sv,    "min"sv,
                                   "sec"sv,  "sin"sv,  "sinh"sv,   "sqrt"sv,   "tan"sv,    "tanh"sv};

constexpr std::array kGreek = {"alpha"sv, "beta"sv,  "gamma"sv, "delta"sv,    "epsilon"sv, "varepsilon"sv, "zeta"sv,
                               "eta"sv,   "theta"sv, "kappa"sv, "lambda"sv,   "mu"sv,      "nu"sv,         "xi"sv,
                               "rho"sv,   "sigma"sv, "tau"sv,   "phi"sv,      "varphi"sv,  "chi"sv,        "psi"sv,
                               "omega"sv, "ell"sv,   "hbar"sv,  "vartheta"sv, "iota"sv,    "upsilon"sv};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

bool is_short_word(std::string_view word) { return contains(kShortWords, word) || is_unit(word); }
bool is_unit(std::string_view word) { return contains(kUnits, word); }
bool is_filler(std::string_view word) { return contains(kFillers, word); }
bool is_condition(std::string_view word) { return contains(kConditions, word); }
bool is_function(std::string_view word) { return contains(kFunctions, word); }
bool is_greek(std::string_view word) { return contains(kGreek, word); }

std::optional<std::int64_t> multiplier(std::string_view word) {
  if (word == "hundred") return 2;
  if (word == "thousand") return 3;
  if (word == "million") return 6;
  if (word == "billion") return 9;
  if (word == "trillion") return 12;
  return std::nullopt;
}

bool is_unit_letter(std::string_view letter) {
  return letter.size() == 1 && std::string_view("mgshLlNJVWAKCF").find(letter[0]) != std::string_view::npos;
}

}  // namespace relaygen::eval
