// Grading on any bytes: no crash, no direction, everything is the same as itself. The first line of the input is the one
// answer, the rest the other.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "eval/grading.h"

using namespace relaygen::eval;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto end = input.find('\n');
  const std::string_view first = input.substr(0, end);
  const std::string_view second = end == std::string_view::npos ? std::string_view{} : input.substr(end + 1);
  require(equivalent(first, second) == equivalent(second, first));
  require(equivalent(first, first) == (first.find_first_not_of(" \t\r\n\v\f.,;:") != std::string_view::npos));
  for (const AnswerKind kind : {AnswerKind::math, AnswerKind::choice}) {
    const auto answer = extract_answer(input, kind);
    require(!answer || !answer->empty());
    const Grade graded = grade(input, true, second, kind);
    require((graded.verdict == Verdict::no_answer) == !answer);
  }
  return 0;
}
