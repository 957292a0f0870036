#include "support/scripted.h"

#include <algorithm>

#include "relaygen/sampling.h"

namespace relaygen::testing {

FakeVocabulary tricky_vocabulary() {
  std::vector<std::string> pieces{
      "<end>", "<user>", " the", " we",      " x",       " know",   "now", "here",    "ly",       " Now",   "Now",
      ",",     "So",     "So,",  " So",      " Thus",    "Thus",    ".",   ".",       "!",        "?",      ". ",
      ".\n\n", "\n",     "\n\n", " ",        "3",        "14",      " e",  ".g",      " That",    " means", " that",
      ":",     ")",      "\"",   "$",        "\\boxed{", "}",       "'s",  "<think>", "</think>", "</",     "think",
      ">",     "\xC3",   "\xA9", "\xE2\x80", "\x9D",     " Again,", " ok", "..."};
  pieces[18] = " is";
  return FakeVocabulary(std::move(pieces), {0});
}

FakeModel hashed_models(const FakeVocabulary& vocabulary, std::uint64_t seed, double agreement) {
  std::vector<float> bias(static_cast<std::size_t>(vocabulary.size()), 0.0F);
  const auto set = [&](std::string_view piece, float value) {
    bias[static_cast<std::size_t>(vocabulary.id(piece))] = value;
  };
  set("<end>", -2.0F);
  set("<user>", -9.0F);
  set("<think>", -3.0F);
  set("</think>", -2.0F);
  return [=](Model model, std::span<const TokenId> context, std::span<float> logits) {
    std::uint64_t digest = seed;
    for (const TokenId token : context) digest = digest * 0x100000001B3ULL + static_cast<std::uint64_t>(token) + 1;
    const Noise common(digest, NoiseStream::evaluation, 0);
    const Noise own(digest, NoiseStream::evaluation, 1 + static_cast<std::uint64_t>(model));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      logits[i] = static_cast<float>(agreement * common.gumbel(0, i) + (1 - agreement) * own.gumbel(0, i)) + bias[i];
    }
  };
}

FakeModel scripted_models(const FakeVocabulary& vocabulary, std::size_t prompt_tokens, std::vector<std::string> large,
                          std::vector<std::string> small) {
  const auto ids = [&](const std::vector<std::string>& pieces) {
    std::vector<TokenId> result;
    for (const std::string& piece : pieces) result.push_back(piece.empty() ? 0 : vocabulary.id(piece));
    return result;
  };
  return [prompt_tokens, scripts = std::array{ids(large), ids(small)}](Model model, std::span<const TokenId> context,
                                                                       std::span<float> logits) {
    const auto& script = scripts[static_cast<std::size_t>(model)];
    const std::size_t at = context.size() - prompt_tokens;
    logits[at < script.size() ? static_cast<std::size_t>(script[at]) : 0] = 10.0F;
  };
}

CueSet cue_set(const std::vector<std::string>& selected, const std::vector<std::string>& known, Rules rules) {
  std::vector<Cue> cues;
  for (const auto& text : selected) cues.push_back({text, true});
  for (const auto& text : known) cues.push_back({text, false});
  return CueSet::build(cues, rules).value();
}

Request tricky_request(const FakeVocabulary& vocabulary) {
  Request request;
  request.prompt = {vocabulary.id("<user>"), vocabulary.id(" x")};
  request.tags = {"<think>", {"</think>"}};
  request.prompt_state = PromptState::thinking;
  request.policy.answer_by = Model::small;
  request.policy.min_large_tokens = 0;
  request.cues = cue_set({"So,", "So ", "Thus", "Now", "Again,", "That means"}, {"Now,", "That means that", "know"});
  request.sampling.temperature = 0;
  return request;
}

std::string text_of(const Vocabulary& vocabulary, const TokenLog& log, std::size_t prompt_tokens) {
  std::string text;
  for (std::size_t i = prompt_tokens; i < log.size(); ++i) text += vocabulary.piece(log[i].id);
  return text;
}

}  // namespace relaygen::testing
