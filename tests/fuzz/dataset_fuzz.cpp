// The dataset reader on any bytes, in every format: problems that can be asked and graded, or an error of one sentence.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "core/unicode.h"
#include "eval/dataset.h"
#include "eval/prompt_template.h"

using namespace relaygen;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const eval::Dataset& dataset) {
  require(!dataset.problems.empty());
  std::set<std::string> ids;
  for (const auto& problem : dataset.problems) {
    require(ids.insert(problem.id).second);
    require(!problem.question.empty() && unicode::is_utf8(problem.question));
    require((problem.kind == eval::AnswerKind::none) == problem.expected.empty());
    if (problem.kind != eval::AnswerKind::choice) continue;
    require(problem.options.size() >= 2 && problem.options.size() <= 26);
    require(static_cast<std::size_t>(problem.expected[0] - 'A') < problem.options.size());
  }
}

}  // namespace

// The first byte chooses the file's name and whether the columns are those of a published dataset.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr const char* kNames[] = {"fuzz.csv", "fuzz.json", "fuzz.jsonl", "fuzz.tsv", "fuzz"};
  const auto presets = eval::presets();
  const std::size_t which = data[0] / std::size(kNames) % (presets.size() + 1);
  const auto dataset =
      eval::parse_dataset({reinterpret_cast<const char*>(data) + 1, size - 1}, kNames[data[0] % std::size(kNames)],
                          which == 0 ? nullptr : &presets[which - 1], {});
  if (!dataset) {
    require(!dataset.error().message.empty() && !dataset.error().hint.empty());
    require(dataset.error().message.find('\n') == std::string::npos);
    return 0;
  }
  check(*dataset);
  return 0;
}
