// Calibration without models: places, scores, decisions; and teacher forcing and proofs on scripted ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/analysis.h"
#include "calibrate/discovery.h"
#include "calibrate/foreign_texts.h"
#include "calibrate/occurrences.h"
#include "calibrate/proof.h"
#include "calibrate/scores.h"
#include "calibrate/teacher.h"
#include "calibrate/traces.h"
#include "engine/fake/fake_engine.h"
#include "relaygen/sampling.h"
#include "support/scripted.h"

namespace relaygen::calibrate {
namespace {

using relaygen::testing::cue_set;

const ThinkingTags kTags{"<think>", {"</think>"}};

// A trace of given pieces; ids count up.
Trace trace_from(const std::vector<std::string>& pieces, PromptState state = PromptState::before_thinking) {
  Trace trace{.key = {"p", 0}, .prompt = {0}, .prompt_state = state};
  for (const std::string& piece : pieces) {
    trace.tokens.push_back(static_cast<TokenId>(trace.tokens.size()));
    trace.text += piece;
    trace.ends.push_back(static_cast<std::uint32_t>(trace.text.size()));
  }
  return trace;
}

// One token a byte.
Trace spelled(const std::string& text) {
  std::vector<std::string> pieces;
  for (const char c : text) pieces.emplace_back(1, c);
  return trace_from(pieces);
}

std::string text_of(const Trace& trace, const Stretch& where) {
  return trace.text.substr(trace.begin_of(where.first), trace.begin_of(where.last) - trace.begin_of(where.first));
}

std::vector<std::string> behind(const Trace& trace, const std::vector<Occurrence>& found) {
  std::vector<std::string> texts;
  for (const auto& one : found) texts.push_back(text_of(trace, one.after));
  return texts;
}

// ---------------------------------------------------------------- traces

TEST(TraceExtent, TagsAreNoThinking) {
  const Trace trace = trace_from({"<think>", "\n", "So, ", "x", ".", "\n", "</think>", "\n\n", "42"});
  const Extent extent = extent_of(trace, kTags);
  EXPECT_EQ(extent.first_thinking, 1U);
  EXPECT_EQ(extent.last_thinking, 6U);
  EXPECT_EQ(extent.first_answer, 7U);
  EXPECT_EQ(trace.text.substr(*extent.answer_begin), "\n\n42");
}

TEST(TraceExtent, ACutTraceHasNoAnswer) {
  const Trace trace = trace_from({"<think>", "a", "b"});
  const Extent extent = extent_of(trace, kTags);
  EXPECT_FALSE(extent.answer_begin);
  EXPECT_EQ(extent.last_thinking, 3U);
  EXPECT_EQ(extent.first_answer, 3U);
}

TEST(TraceExtent, ThePromptMayHaveOpenedTheTag) {
  const Extent extent = extent_of(trace_from({"a", "</think>", "b"}, PromptState::thinking), kTags);
  EXPECT_EQ(extent.first_thinking, 0U);
  EXPECT_EQ(extent.last_thinking, 1U);
  EXPECT_EQ(extent.first_answer, 2U);
}

TEST(TraceToken, IsTheFirstThatBeginsThereOrBehind) {
  const Trace trace = trace_from({"ab", "c", "def"});
  EXPECT_EQ(token_from(trace, 0), 0U);
  EXPECT_EQ(token_from(trace, 1), 1U);
  EXPECT_EQ(token_from(trace, 2), 1U);
  EXPECT_EQ(token_from(trace, 3), 2U);
  EXPECT_EQ(token_from(trace, 4), 3U);
  EXPECT_EQ(token_from(trace, 100), 3U);
}

// ---------------------------------------------------------------- places

TEST(Occurrences, RunToTheTokenThatEndsTheSentence) {
  const Trace trace = trace_from({"<think>", "So,", " a", " is", " 3.", "5", ".", " Then", " b", "."});
  const auto found = find_occurrences(trace, extent_of(trace, kTags), cue_set({"So,", "Then"}), 0);
  EXPECT_EQ(behind(trace, found), (std::vector<std::string>{" a is 3.5.", " b."}));
  EXPECT_EQ(found[0].cue, 0U);
  EXPECT_EQ(found[1].cue, 1U);
  EXPECT_EQ(trace.text.substr(found[1].begin, found[1].end - found[1].begin), "Then");
}

TEST(Occurrences, WordsOnlyAndInTheThinkingOnly) {
  const Trace trace = trace_from({"<think>", "I know", " now", " it", ".", "</think>", " now", " x"});
  const auto found = find_occurrences(trace, extent_of(trace, kTags), cue_set({"now"}), 0);
  EXPECT_EQ(behind(trace, found), (std::vector<std::string>{" it."}));
}

TEST(Occurrences, AreCappedAndNeverEmpty) {
  const Trace trace = trace_from({"So,", " a", " b", " c", ". So,"}, PromptState::thinking);
  const auto found = find_occurrences(trace, extent_of(trace, kTags), cue_set({"So,"}), 2);
  EXPECT_EQ(behind(trace, found), (std::vector<std::string>{" a b"}));
}

TEST(Occurrences, ATokenThatHoldsMoreThanTheCueBelongsToTheLargeModel) {
  const Trace trace = trace_from({"So, the", " end", "."}, PromptState::thinking);
  const auto found = find_occurrences(trace, extent_of(trace, kTags), cue_set({"So,"}), 0);
  EXPECT_EQ(behind(trace, found), (std::vector<std::string>{" end."}));
}

TEST(Occurrences, UnderThePublishedRulesEachStringIsLookedForByItself) {
  const Trace trace = trace_from({"also,", " another", " x", "."}, PromptState::thinking);
  const CueSet cues = cue_set({"so,", "also,", "other", "another", "x."}, {}, Rules::published);
  std::vector<std::pair<std::uint32_t, std::string>> found;
  for (const auto& one : find_occurrences(trace, extent_of(trace, kTags), cues, 0))
    found.emplace_back(one.cue, text_of(trace, one.after));
  const std::vector<std::pair<std::uint32_t, std::string>> expected{
      {0, " another x."}, {1, " another x."}, {2, " x."}, {3, " x."}};
  EXPECT_EQ(found, expected);
}

TEST(Occurrences, HandoffsLeaveOutWhatStandsInASmallSegment) {
  const Trace trace = trace_from({"So,", " a,", " so,", " b", ".", " c", " so,", " d", "."}, PromptState::thinking);
  const auto found = find_occurrences(trace, extent_of(trace, kTags), cue_set({"So,", "so,"}), 0);
  EXPECT_EQ(behind(trace, found), (std::vector<std::string>{" a, so, b.", " b.", " d."}));
  EXPECT_EQ(behind(trace, handoffs_of(found, {true, true}, 0)), (std::vector<std::string>{" a, so, b.", " d."}));
  EXPECT_EQ(behind(trace, handoffs_of(found, {false, true}, 0)), (std::vector<std::string>{" b.", " d."}));
  EXPECT_EQ(behind(trace, handoffs_of(found, {true, true}, 2)), (std::vector<std::string>{" b.", " d."}));
}

TEST(SentenceTails, LeaveTheFirstWordOut) {
  const Trace trace = spelled("<think>\nOne two three. Four five.\nSix</think> Seven eight.");
  const auto tails = sentence_tails(trace, extent_of(trace, kTags), Rules::exact);
  ASSERT_EQ(tails.size(), 2U);
  EXPECT_EQ(text_of(trace, tails[0]), " two three.");
  EXPECT_EQ(text_of(trace, tails[1]), " five.");
}

// ---------------------------------------------------------------- discovery

std::set<std::string> openers(const std::string& thinking) {
  Discovery discovery;
  discovery.add(thinking, 0);
  std::set<std::string> texts;
  for (const auto& one : discovery.frequent(1, 1, 1000)) texts.insert(one.text);
  return texts;
}

TEST(Discovery, FindsWordsThatSentencesAndClausesBeginWith) {
  const auto found =
      openers("Let me check: 2 + 2. That means it is 4, so the end comes; well, it does.\n\nThus, 3 is it.");
  for (const char* wanted : {"Let me check:", "That means", "That", "Thus,", "Let", "Let me", "well,"})
    EXPECT_TRUE(found.contains(wanted)) << wanted;
  for (const char* wrong : {"Thus", "check", "2", "end", "it", "means", "so", "so the"})
    EXPECT_FALSE(found.contains(wrong)) << wrong;
}

TEST(Discovery, KnowsOtherScripts) {
  const auto found = openers("所以，答案是四。因此，我们完成了。Donc, c'est fini. Проверим: да, нет.");
  for (const char* wanted : {"所以，", "因此，", "Donc,", "Проверим:"}) EXPECT_TRUE(found.contains(wanted)) << wanted;
}

TEST(Discovery, CountsProblemsAndKeepsTheFrequent) {
  Discovery discovery;
  for (std::uint32_t problem = 0; problem < 3; ++problem) discovery.add("So, a. So, b. Well, c.", problem);
  discovery.add("Hm, d. Hm, e. Hm, f. Hm, g.", 3);
  const auto found = discovery.frequent(3, 2, 10);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "So,");
  EXPECT_EQ(found[0].count, 6U);
  EXPECT_EQ(found[0].problems, 3U);
  EXPECT_EQ(found[1].text, "Well,");
  EXPECT_EQ(discovery.frequent(3, 2, 1).size(), 1U);
}

// ---------------------------------------------------------------- scores

// Opinions from a hash: nothing about them is regular.
Opinions random_opinions(std::size_t tokens, std::uint64_t seed) {
  const Noise noise(seed, NoiseStream::evaluation);
  Opinions opinions;
  for (std::size_t i = 0; i < tokens; ++i) {
    opinions.margin.push_back(static_cast<float>(noise.uniform(i, 0)));
    opinions.logprob.push_back(static_cast<float>(std::log(noise.uniform(i, 1))));
    opinions.entropy.push_back(static_cast<float>(noise.uniform(i, 2)));
    opinions.top.push_back(static_cast<TokenId>(noise.uniform(i, 3) * static_cast<double>(2 * tokens)));
    opinions.of_asked.push_back(static_cast<float>(std::log(noise.uniform(i, 4))));
  }
  return opinions;
}

TEST(Scores, ThePublishedOneIsADifferenceOfTwoMeans) {
  const std::vector<std::string> texts = {"So, a b. C d e. So, f. G h. Then i.", "So, j so, k. L m.", "Then n. O p."};
  const CueSet cues = cue_set({"So,", "so,", "Then"});
  std::array<double, 3> after{}, after_count{}, other{}, other_count{};
  Scoring scoring({.resamples = 10});
  for (std::uint32_t i = 0; i < texts.size(); ++i) {
    Trace trace = spelled(texts[i]);
    trace.prompt_state = PromptState::thinking;
    const Extent extent = extent_of(trace, kTags);
    const auto small = random_opinions(trace.tokens.size(), i);
    const auto found = find_occurrences(trace, extent, cues, 0);
    scoring.add(i, trace, extent, found, {}, small, {});
    for (std::uint32_t cue = 0; cue < 3; ++cue) {
      std::set<std::uint32_t> tokens;
      for (const auto& one : found) {
        for (std::uint32_t t = one.after.first; one.cue == cue && t < one.after.last; ++t) tokens.insert(t);
      }
      if (tokens.empty()) continue;
      for (std::uint32_t t = 0; t < trace.tokens.size(); ++t) {
        (tokens.contains(t) ? after : other)[cue] += static_cast<double>(small.margin[t]);
        (tokens.contains(t) ? after_count : other_count)[cue] += 1;
      }
    }
  }
  const auto scores = scoring.scores();
  ASSERT_EQ(scores.size(), 3U);
  for (const auto& score : scores)
    EXPECT_NEAR(score.published.value,
                after[score.cue] / after_count[score.cue] - other[score.cue] / other_count[score.cue], 1e-12);
  EXPECT_EQ(scores[0].count, 3U);
  EXPECT_EQ(scores[0].problems, 2U);
  EXPECT_EQ(scores[0].traces, 2U);
}

TEST(Scores, ASegmentIsSafeWhereTheLargeModelRefusesNothing) {
  Trace trace = trace_from({"So,", " a", ".", " So,", " b", "."}, PromptState::thinking);
  const Extent extent = extent_of(trace, kTags);
  Opinions small = random_opinions(6, 1), large = random_opinions(6, 2);
  large.entropy.assign(6, 0);
  large.of_asked = {0, -0.1F, -0.1F, 0, -0.1F, -9};  // the last full stop is not what the large model expects
  Scoring scoring({.resamples = 10});
  scoring.add(0, trace, extent, find_occurrences(trace, extent, cue_set({"So,"}), 0), {}, small, large);
  const auto scores = scoring.scores();
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_DOUBLE_EQ(scores[0].safe.value, 0.5);
  EXPECT_DOUBLE_EQ(scores[0].behind[static_cast<std::size_t>(Measure::refused)].value, 0.25);
}

TEST(Scores, IntervalsHoldTheValueAndDependOnTheSeedAlone) {
  const auto run = [](std::uint64_t seed) {
    Scoring scoring({.resamples = 400, .seed = seed});
    for (std::uint32_t i = 0; i < 30; ++i) {
      Trace trace = spelled("So, one two. Three four five. So, six. Seven eight.");
      trace.prompt_state = PromptState::thinking;
      const Extent extent = extent_of(trace, kTags);
      scoring.add(i, trace, extent, find_occurrences(trace, extent, cue_set({"So,"}), 0),
                  sentence_tails(trace, extent, Rules::exact), random_opinions(trace.tokens.size(), i),
                  random_opinions(trace.tokens.size(), 100 + i));
    }
    return scoring.scores().at(0);
  };
  const auto score = run(1), same = run(1), other = run(2);
  EXPECT_LT(score.published.low, score.published.value);
  EXPECT_GT(score.published.high, score.published.value);
  EXPECT_EQ(score.published.low, same.published.low);
  EXPECT_NE(score.published.low, other.published.low);
  EXPECT_GT(score.p_published, 0.01);  // nothing but noise
}

TEST(Typical, AcceptsWhatIsLikelyEnoughForTheEntropy) {
  const TypicalCriterion criterion{.epsilon = 0.09, .delta = 0.3};
  EXPECT_FALSE(is_refused(std::log(0.1), 0, criterion));
  EXPECT_TRUE(is_refused(std::log(0.08), 0, criterion));
  EXPECT_FALSE(is_refused(std::log(0.08), 2, criterion));  // 0.3 exp(-2) = 0.04
  EXPECT_TRUE(is_refused(std::log(0.03), 2, criterion));
}

// ---------------------------------------------------------------- decisions

TEST(BenjaminiHochberg, AdjustsAsInTheBook) {
  // The example of Benjamini and Hochberg (1995), table 1: with 15 tests and a rate of 0.05 the first four are rejected.
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const auto adjusted = adjust(p);
  EXPECT_EQ(std::ranges::count_if(adjusted, [](double x) { return x <= 0.05; }), 4);
  EXPECT_NEAR(adjusted[0], 0.0015, 1e-12);
  EXPECT_NEAR(adjusted[3], 0.035625, 1e-12);
  EXPECT_DOUBLE_EQ(adjusted[14], 1.0);
  const auto turned = adjust({0.9, 0.01});
  EXPECT_DOUBLE_EQ(turned[0], 0.9);
  EXPECT_DOUBLE_EQ(turned[1], 0.02);
  EXPECT_TRUE(adjust({}).empty());
}

std::vector<eval::Problem> problems(std::size_t count) {
  std::vector<eval::Problem> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back({.id = std::to_string(i), .question = "?"});
  return list;
}

TEST(Splits, AreDisjointAndDependOnTheSeed) {
  const auto splits = split_problems(problems(100), 1);
  EXPECT_EQ(std::ranges::count(splits, Split::selection), 60);
  EXPECT_EQ(std::ranges::count(splits, Split::thresholds), 20);
  EXPECT_EQ(std::ranges::count(splits, Split::report), 20);
  EXPECT_EQ(splits, split_problems(problems(100), 1));
  EXPECT_NE(splits, split_problems(problems(100), 2));
  EXPECT_EQ(std::ranges::count(split_problems(problems(9), 1), Split::selection), 9);
}

TEST(ProofPlaces, AreSpreadOverProblemsAndGrowByAdding) {
  std::vector<ProofPlace> all;
  for (const char* problem : {"a", "b", "c"}) {
    for (std::uint32_t token = 0; token < 10; ++token) all.push_back({{problem, 0}, token % 2, token});
  }
  const auto three = choose_places(all, 3, 7);
  ASSERT_EQ(three.size(), 6U);
  std::set<std::pair<std::uint32_t, std::string>> spread;
  for (const auto& place : three) spread.insert({place.cue, place.trace.problem});
  EXPECT_EQ(spread.size(), 6U);
  const auto five = choose_places(all, 5, 7);
  for (const auto& place : three) EXPECT_TRUE(std::ranges::find(five, place) != five.end());
  EXPECT_EQ(choose_places(all, 100, 7).size(), all.size());
}

TEST(ProofSummary, CountsOnlyWhatGoesBeyondTheLargeModelsOwnChanges) {
  std::vector<PlaceOutcome> outcomes;
  for (int i = 0; i < 100; ++i) {
    outcomes.push_back({.problem = std::to_string(i),
                        .flipped = i < 30,
                        .own_flipped = i >= 90,
                        .right = {},
                        .right_same = {},
                        .right_other = {}});
  }
  const auto proof = summarise_proof(outcomes);
  EXPECT_EQ(proof.flips, 30U);
  EXPECT_EQ(proof.own_flips, 10U);
  EXPECT_FALSE(proof.graded);
  EXPECT_NEAR(proof.loss.value, 0.2, 1e-12);
  EXPECT_GT(proof.loss.low, 0.05);
  EXPECT_LT(proof.loss.high, 0.35);
}

TEST(ProofSummary, WhereRightAnswersAreKnownOnlyThoseCount) {
  std::vector<PlaceOutcome> outcomes;
  for (int i = 0; i < 50; ++i)
    outcomes.push_back(
        {.problem = std::to_string(i), .flipped = true, .right = true, .right_same = false, .right_other = true});
  const auto proof = summarise_proof(outcomes);
  EXPECT_TRUE(proof.graded);
  EXPECT_NEAR(proof.loss.value, -0.5, 1e-12);
}

// ---------------------------------------------------------------- foreign texts

TEST(ForeignTexts, CountSamplesAndLeaveOutWhatIsEmptyOrACopy) {
  const auto read = parse_foreign_texts(
      "{\"id\": 7, \"question\": \"q\", \"text\": \"<think>a</think>b\", \"answer\": \"3\"}\n"
      "{\"id\": 7, \"question\": \"q\", \"text\": \"<think>c</think>b\"}\n"
      "{\"id\": 7, \"question\": \"q\", \"text\": \"<think>a</think>b\"}\n"
      "{\"id\": 8, \"question\": \"r\", \"text\": \"  \"}\n",
      "t.jsonl");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->texts.size(), 2U);
  EXPECT_EQ(read->texts[1].key, (TraceKey{"7", 1}));
  EXPECT_EQ(read->texts[0].expected, "3");
  ASSERT_EQ(read->notes.size(), 2U);
}

TEST(ForeignTexts, TakeMessagesWithReasoning) {
  const auto read = parse_foreign_texts(
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}, {"role": "assistant", "reasoning_content": "a", "content": "b"}]})",
      "t.jsonl");
  ASSERT_TRUE(read) << read.error().message;
  const auto& text = read->texts.at(0);
  EXPECT_EQ(text.messages.size(), 2U);
  EXPECT_EQ(text.question, "q");
  EXPECT_EQ(text.reasoning, "a");
}

TEST(ForeignTexts, SayWhatIsWrong) {
  const auto message = [](const std::string& content) {
    const auto read = parse_foreign_texts(content, "t.jsonl");
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_EQ(message("{\"text\": \"x\"}"), "t.jsonl, line 1: there is no question");
  EXPECT_EQ(message("{\"question\": \"q\", \"text\": \"\"}"), "t.jsonl holds no text of a model");
  EXPECT_EQ(message("{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}]}"),
            "t.jsonl, line 1: the last message is not the assistant's");
  EXPECT_NE(
      message("{\"id\": 1, \"question\": \"q\", \"text\": \"x\"}\n{\"id\": 1, \"question\": \"r\", \"text\": \"x\"}")
          .find("stands for another question already"),
      std::string::npos);
}

TEST(ForeignTexts, GetTheTagsThatThePromptNeeds) {
  const FakeVocabulary vocabulary({"<think>", "</think>", "\n", "a", "b", "<end>"}, {5});
  const auto text = [&](const std::string& given, const std::string& reasoning, PromptState state) {
    const ChatPrompt prompt{.text = "", .tokens = {0}, .tags = kTags, .state = state};
    const auto trace = trace_of({.reasoning = reasoning, .text = given}, vocabulary, prompt, 0);
    return trace ? trace->text : trace.error().message;
  };
  EXPECT_EQ(text("<think>\na</think>b<end>", "", PromptState::before_thinking), "<think>\na</think>b");
  EXPECT_EQ(text("<think>\na</think>b", "", PromptState::thinking), "a</think>b");
  EXPECT_EQ(text("a</think>b", "", PromptState::before_thinking), "<think>\na</think>b");
  EXPECT_EQ(text("b", "a", PromptState::before_thinking), "<think>\na\n</think>\n\nb");
  EXPECT_EQ(text("b", "a", PromptState::thinking), "a\n</think>\n\nb");
}

// ---------------------------------------------------------------- on scripted models

TEST(TeacherForcing, EqualsReadingTokenByToken) {
  const auto vocabulary = relaygen::testing::tricky_vocabulary();
  const auto model = relaygen::testing::hashed_models(vocabulary, 5, 0.5);
  const Noise noise(3, NoiseStream::evaluation);
  std::vector<TokenId> prompt, tokens;
  for (std::uint64_t i = 0; i < 150; ++i)
    (i < 70 ? prompt : tokens).push_back(static_cast<TokenId>(noise.uniform(i, 0) * vocabulary.size()));
  const std::atomic<bool> cancel{false};
  for (const std::int32_t rows : {1, 7, 16}) {
    FakeEngine engine(vocabulary,
                      {.model = model, .faults = {}, .limits = {.window = 200, .batch = 16, .output_rows = rows}});
    const auto small = opinions_of(engine, Model::small, prompt, tokens, {}, cancel);
    ASSERT_TRUE(small) << small.error().message;
    const auto large = opinions_of(engine, Model::large, prompt, tokens, small->top, cancel);
    ASSERT_TRUE(large) << large.error().message;
    ASSERT_EQ(large->of_asked.size(), tokens.size());
    std::vector<TokenId> context = prompt;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::vector<float> logits(static_cast<std::size_t>(vocabulary.size()));
      model(Model::small, context, logits);
      std::vector<double> p;
      double sum = 0;
      for (const float x : logits) sum += std::exp(static_cast<double>(x));
      for (const float x : logits) p.push_back(std::exp(static_cast<double>(x)) / sum);
      double entropy = 0;
      for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
      auto sorted = p;
      std::ranges::sort(sorted, std::greater<>());
      EXPECT_NEAR(static_cast<double>(small->margin[i]), sorted[0] - sorted[1], 1e-5);
      EXPECT_NEAR(static_cast<double>(small->logprob[i]), std::log(p[static_cast<std::size_t>(tokens[i])]), 1e-5);
      EXPECT_NEAR(static_cast<double>(small->entropy[i]), entropy, 1e-5);
      EXPECT_EQ(p[static_cast<std::size_t>(small->top[i])], sorted[0]);
      model(Model::large, context, logits);
      EXPECT_NEAR(static_cast<double>(large->of_asked[i]), static_cast<double>(log_probability(logits, small->top[i])),
                  1e-5);
      context.push_back(tokens[i]);
    }
  }
}

TEST(TeacherForcing, EndsWithTheEnginesError) {
  const auto vocabulary = relaygen::testing::tricky_vocabulary();
  FakeEngine engine(vocabulary, {.model = relaygen::testing::hashed_models(vocabulary, 5, 0.5),
                                 .faults = [](std::uint64_t decode) { return decode == 2 ? -2 : 0; }});
  const std::vector<TokenId> prompt(5, 1), tokens(50, 2);
  const std::atomic<bool> cancel{false};
  const auto failed = opinions_of(engine, Model::small, prompt, tokens, {}, cancel);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::decode_failed);
  const std::atomic<bool> stop{true};
  EXPECT_EQ(opinions_of(engine, Model::small, prompt, tokens, {}, stop).error().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace relaygen::calibrate
