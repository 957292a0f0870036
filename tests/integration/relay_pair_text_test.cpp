// Texts of the loop on the bundled pair: who wrote what, tags, budgets, a second turn.
#include <cstdio>

#include "integration/relay_pair.h"
#include "relaygen/segment.h"

namespace relaygen {
namespace {

using test::demo_request;
using test::Recorder;

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

class RelayPairText : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = test::load_demo(); }
  static void TearDownTestSuite() { pair_.reset(); }
  void SetUp() override { ASSERT_NE(pair_, nullptr); }

  static Request greedy(std::string_view policy, const std::string& question) {
    Request request = demo_request(*pair_, policy, question);
    request.sampling.temperature = 0;
    return request;
  }

  static Generation finished(const Request& request, Engine& engine) {
    auto generation = Generation::create(engine, request);
    if (!generation) throw std::runtime_error(generation.error().message);
    const auto done = generation->run(engine);
    EXPECT_TRUE(done) << done.error().message;
    return std::move(*generation);
  }
  static Completion completed(const Request& request) { return finished(request, *pair_).completion(); }

  static std::unique_ptr<Pair> pair_;
};

std::unique_ptr<Pair> RelayPairText::pair_;

struct SmallSegment {
  std::uint64_t begin, end;
  std::optional<std::uint32_t> cue;
  bool operator==(const SmallSegment&) const = default;
};

std::ostream& operator<<(std::ostream& out, const SmallSegment& s) { return out << s.begin << ".." << s.end; }

// Reading the finished text finds the handoffs that the loop made while it was written: what the small model saw of a
// cue's or a sentence's end by looking ahead is what the text turned out to be. The one difference: the loop hands over
// between tokens, so where a token holds more than the end of the sentence (".\n") the segment ends with the token.
TEST_F(RelayPairText, AuthorsFollowTheText) {
  std::size_t handoffs = 0, inside_a_token = 0;
  for (const std::string policy : {"relay", "all-candidates"}) {
    for (const auto& problem : test::problems(10)) {
      for (const float temperature : {0.0F, 1.0F}) {
        Request request = greedy(policy, problem.question);
        request.sampling.temperature = temperature;
        const Generation generation = finished(request, *pair_);
        const Completion completion = generation.completion();
        ASSERT_EQ(completion.usage.forced, 0u);
        std::vector<std::uint64_t> token_ends{0};
        for (const auto& token : test::tokens_of(generation)) {
          token_ends.push_back(token_ends.back() + pair_->vocabulary().piece(token.id).size());
        }
        ASSERT_EQ(token_ends.back(), completion.text.size());
        const auto next_token = [&](std::uint64_t byte) {
          const std::uint64_t end = *std::lower_bound(token_ends.begin(), token_ends.end(), byte);
          inside_a_token += end != byte ? 1 : 0;
          return end;
        };

        std::vector<SmallSegment> written, read;
        for (const Segment& s : completion.segments) {
          if (s.author == Author::small && s.phase == Phase::thinking) written.push_back({s.begin, s.end, s.cue});
        }
        SegmentOptions options;
        options.tags = request.tags;
        for (const TextSegment& s : segment_text(completion.text, request.cues, options).segments) {
          if (s.author != Author::small || s.phase != Phase::thinking) continue;
          read.push_back({next_token(s.begin), next_token(s.end), s.cue});
        }
        ASSERT_EQ(written, read) << completion.text;
        handoffs += written.size();
      }
    }
  }
  std::printf("%zu handoffs, %zu boundaries inside a token\n", handoffs, inside_a_token);
  EXPECT_GT(handoffs, 150u);
}

// The log p that a catch-up gives the small model's tokens is the one of a fresh prefill of the whole text.
TEST_F(RelayPairText, TheLargeModelsOpinionIsThatOfAFreshPrefill) {
  const auto second = test::load_demo();
  std::size_t judged = 0;
  for (const auto& problem : test::problems(5)) {
    Request request = demo_request(*pair_, "all-candidates", problem.question);
    request.seed = 5;
    request.judge = true;
    const Generation generation = finished(request, *pair_);
    const auto records = generation.log().records();
    const auto ids = generation.log().ids();
    static_cast<void>(second->truncate(Model::large, 0));
    for (std::size_t begin = 0; begin < ids.size(); begin += 64) {
      const std::size_t size = std::min<std::size_t>(64, ids.size() - begin);
      const auto rows = second->decode(Model::large, ids.subspan(begin, size), static_cast<std::int32_t>(size));
      ASSERT_TRUE(rows) << rows.error().message;
      for (std::size_t i = begin; i < begin + size && i + 1 < ids.size(); ++i) {
        const TokenRecord& next = records[i + 1];
        if (std::isnan(next.large_logprob)) continue;
        ASSERT_EQ(next.author, Author::small);
        ASSERT_NEAR(next.large_logprob, log_probability((*rows)[i - begin], next.id), 2 * test::kShapeError);
        ++judged;
      }
    }
    // Every segment that the large model caught up with is judged; the answer and a last segment are not.
    const Completion completion = generation.completion();
    ASSERT_EQ(completion.usage.judged,
              static_cast<std::uint64_t>(std::count_if(records.begin(), records.end(), [](const auto& r) {
                return r.author == Author::small && r.phase == Phase::thinking;
              })));
  }
  EXPECT_GT(judged, 100u);
}

TEST_F(RelayPairText, APromptMayHaveOpenedTheThought) {
  const auto opening = pair_->vocabulary().tokenize("<think>\n");
  ASSERT_TRUE(opening);
  for (const auto& problem : test::problems(3)) {
    const Request plain = greedy("relay", problem.question);
    Request opened = plain;
    opened.prompt.insert(opened.prompt.end(), opening->begin(), opening->end());
    opened.prompt_state = PromptState::thinking;
    Recorder by_model(*pair_);
    const Completion a = finished(plain, by_model).completion();
    ASSERT_TRUE(a.text.starts_with("<think>\n"));
    Recorder by_prompt(*pair_);
    const Completion b = finished(opened, by_prompt).completion();
    EXPECT_EQ(count(b.text, "<think>"), 0u);
    EXPECT_EQ(count(b.text, "</think>"), 1u);
    EXPECT_FALSE(b.answer.empty());
    // The model itself opens the thought first thing, so both go on alike.
    std::vector<test::Answer> rest(by_model.answers());
    rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(opening->size()));
    const auto comparison = test::compare(plain, rest, by_prompt.answers());
    if (comparison.tie) continue;
    EXPECT_EQ(a.text, "<think>\n" + b.text);
    EXPECT_EQ(a.thinking, b.thinking);
    EXPECT_EQ(a.answer, b.answer);
  }
}

TEST_F(RelayPairText, WithoutThinkingTheTextIsTheAnswer) {
  for (const std::string policy : {"relay", "large-only"}) {
    Request request = greedy(policy, test::problems(1).front().question);
    const std::vector<ChatMessage> messages{{"user", test::problems(1).front().question}};
    const auto prompt = pair_->render(messages, false);
    ASSERT_TRUE(prompt);
    request.prompt = prompt->tokens;
    request.prompt_state = prompt->state;
    ASSERT_EQ(request.prompt_state, PromptState::answering);
    const Completion completion = completed(request);
    EXPECT_EQ(completion.finish, FinishReason::stop);
    EXPECT_EQ(count(completion.text, "think>"), 0u);
    EXPECT_TRUE(completion.thinking.empty());
    EXPECT_FALSE(completion.answer.empty());
    EXPECT_EQ(completion.usage.thinking, 0u);
    EXPECT_EQ(completion.usage.forced, 0u);
    ASSERT_EQ(completion.segments.size(), 1u);
    EXPECT_EQ(completion.segments[0].author, author_of(request.policy.answer_by));
  }
}

// The models are free to write a tag into the answer (the bundled pair thinks on after a tag that comes too early, and
// closes once more): such a tag is text.
TEST_F(RelayPairText, AThinkingBudgetClosesTheThoughtOnce) {
  const TokenId tag = pair_->vocabulary().tokenize("</think>").value().front();
  for (const std::string policy : {"relay", "large-only", "small-only", "random", "all-candidates"}) {
    for (const auto& problem : test::problems(2)) {
      for (const std::int32_t budget : {0, 1, 2, 3, 7, 15, 30, 60, 90}) {
        Request request = greedy(policy, problem.question);
        request.budgets.thinking = budget;
        const Generation generation = finished(request, *pair_);
        const Completion completion = generation.completion();
        const std::string where = fmt::format("{}, {} tokens: {}", policy, budget, completion.text);
        std::int32_t thought = 0, tags = 0;
        auto phase = Phase::thinking;
        for (const TokenRecord& record : generation.log().records().subspan(request.prompt.size())) {
          ASSERT_TRUE(phase == Phase::thinking || record.phase == Phase::answer) << where;
          phase = record.phase;
          if (phase == Phase::answer) continue;
          thought += record.author != Author::forced ? 1 : 0;
          tags += record.id == tag ? 1 : 0;
        }
        EXPECT_EQ(tags, 1) << where;
        EXPECT_LE(thought, budget) << where;
        EXPECT_EQ(count(completion.text, "<think>"), 1u) << where;
        EXPECT_EQ(count(completion.thinking, "think>"), 0u) << where;
        EXPECT_FALSE(completion.answer.empty()) << where;
        EXPECT_EQ(completion.finish, FinishReason::stop) << where;
        EXPECT_TRUE(budget > 60 || completion.usage.forced > 0) << where;
      }
    }
  }
}

// A line break after a forced tag counts as answer, though not against its budget.
TEST_F(RelayPairText, TotalAndAnswerBudgetsHold) {
  for (const std::string policy : {"relay", "large-only"}) {
    for (const std::int32_t total : {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 33, 60}) {
      for (const std::int32_t answer : {-1, 0, 1, 5}) {
        Request request = greedy(policy, test::problems(1).front().question);
        request.budgets = {.total = total, .thinking = -1, .answer = answer};
        const std::string where = fmt::format("{}, total {}, answer {}", policy, total, answer);
        auto generation = Generation::create(*pair_, request);
        if (!generation) {  // an answer that leaves no room for thinking
          ASSERT_EQ(generation.error().kind, ErrorKind::usage) << where;
          ASSERT_TRUE(answer >= 0 && total < 12) << where;
          continue;
        }
        ASSERT_TRUE(generation->run(*pair_)) << where;
        const auto written = generation->log().records().subspan(request.prompt.size());
        EXPECT_LE(written.size(), static_cast<std::size_t>(total)) << where;
        EXPECT_LE(
            std::count_if(written.begin(), written.end(),
                          [](const TokenRecord& r) { return r.phase == Phase::answer && r.author != Author::forced; }),
            answer >= 0 ? answer : total)
            << where;
      }
    }
  }
}

// A second turn keeps what both prompts share and prefills the rest.
TEST_F(RelayPairText, ASecondTurnOnAReusedCacheWritesTheSame) {
  std::size_t ties = 0;
  for (const std::string policy : {"relay", "large-only", "small-only"}) {
    const auto two = test::problems(2);
    for (const float temperature : {0.0F, 0.6F}) {
      Recorder engine(*pair_);
      Request first = demo_request(*pair_, policy, two[0].question);
      first.sampling.temperature = temperature;
      first.seed = 3;
      const Generation turn = finished(first, engine);
      const std::vector<ChatMessage> messages{
          {"user", two[0].question}, {"assistant", turn.completion().answer}, {"user", two[1].question}};
      Request second = demo_request(*pair_, policy, messages);
      second.sampling = first.sampling;
      second.seed = 4;

      const std::size_t decoded_before = engine.decoded();
      engine.clear_answers();
      auto reusing = Generation::create(engine, second);
      ASSERT_TRUE(reusing);
      reusing->reuse_cache(turn, engine);
      ASSERT_TRUE(reusing->run(engine));
      const std::size_t decoded = engine.decoded() - decoded_before;

      Recorder fresh(*pair_);
      const Generation other = finished(second, fresh);
      const auto comparison = test::compare(second, engine.answers(), fresh.answers());
      EXPECT_FALSE(reusing->completion().answer.empty());
      if (comparison.tie) {
        ++ties;
        continue;
      }
      EXPECT_EQ(test::tokens_of(*reusing), test::tokens_of(other));
      // The models that wrote in the first turn hold its question already.
      EXPECT_LT(decoded + first.prompt.size() - 8, fresh.decoded());
    }
  }
  EXPECT_LE(ties, 1u);
}

}  // namespace
}  // namespace relaygen
