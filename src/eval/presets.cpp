#include <algorithm>
#include <array>

#include "eval/dataset.h"

namespace relaygen::eval {
namespace {

constexpr std::array<Preset, 7> kPresets{{
    {"demo", "the held-out problems of the bundled pair", AnswerKind::math},
    {"aime24", "AIME 2024 with the columns problem and answer, as JSON lines or CSV", AnswerKind::math},
    {"aime25", "AIME 2025 with the columns problem (or question) and answer, as JSON lines or CSV", AnswerKind::math},
    {"math500", "test.jsonl of MATH-500 (problem, answer, unique_id)", AnswerKind::math},
    {"gsm8k", "test.jsonl of GSM8K (question, answer with the result behind ####)", AnswerKind::math},
    {"gpqa-diamond", "gpqa_diamond.csv (Question, Correct Answer, Incorrect Answer 1 to 3)", AnswerKind::choice},
    {"ifeval", "the prompts of IFEval (key, prompt) as JSON lines; outputs are kept and not graded", AnswerKind::none},
}};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  const auto found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const Preset& one) { return one.name == name; });
  return found == kPresets.end() ? nullptr : found;
}

std::string_view name(AnswerKind kind) {
  switch (kind) {
    case AnswerKind::math: return "math";
    case AnswerKind::choice: return "choice";
    case AnswerKind::none: return "none";
  }
  return "?";
}

std::optional<AnswerKind> answer_kind(std::string_view text) {
  for (const AnswerKind kind : {AnswerKind::math, AnswerKind::choice, AnswerKind::none}) {
    if (name(kind) == text) return kind;
  }
  return std::nullopt;
}

}  // namespace relaygen::eval
