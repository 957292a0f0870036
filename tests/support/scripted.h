// Requests and a scripted pair for testing the loop.
#pragma once

#include <string>
#include <vector>

#include "engine/fake/fake_engine.h"
#include "relaygen/relay.h"

namespace relaygen::testing {

/// A vocabulary in which everything that the loop has to get right occurs often: cues, cues inside words, stops inside
/// numbers and abbreviations, tokens that hold more than a sentence end, split tags, incomplete UTF-8.
[[nodiscard]] FakeVocabulary tricky_vocabulary();

/// A pair of models without sense: the logits of a token are a hash of the whole context. `agreement` in [0, 1] is how
/// much of the large model's opinion the small one shares.
[[nodiscard]] FakeModel hashed_models(const FakeVocabulary& vocabulary, std::uint64_t seed, double agreement);

/// Models that write given tokens, whatever the context says: the n-th token of the text is the n-th entry of its
/// author's script. An empty entry, or the end of a script, ends the text.
[[nodiscard]] FakeModel scripted_models(const FakeVocabulary& vocabulary, std::size_t prompt_tokens,
                                        std::vector<std::string> large, std::vector<std::string> small);

[[nodiscard]] CueSet cue_set(const std::vector<std::string>& selected, const std::vector<std::string>& known = {},
                             Rules rules = Rules::exact);

/// A relay request over tricky_vocabulary() with greedy sampling and no minimum large segment.
[[nodiscard]] Request tricky_request(const FakeVocabulary& vocabulary);

[[nodiscard]] std::string text_of(const Vocabulary& vocabulary, const TokenLog& log, std::size_t prompt_tokens);

}  // namespace relaygen::testing
