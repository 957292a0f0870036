// The loop on the bundled pair against the naive loop, which prefills the whole log from an empty cache before every
// token.
#include "integration/relay_pair.h"

#include <fmt/format.h>

#include <cstdio>

namespace relaygen {
namespace {

using test::Answer;
using test::Comparison;
using test::demo_request;
using test::Ending;
using test::Question;
using test::Recorder;
using test::Row;
using test::Tokens;
using test::tokens_of;

/// Logits from nothing but the context. Contexts that several runs share are computed once.
class FreshPrefill {
 public:
  explicit FreshPrefill(Pair& pair) : pair_(pair) {}

  const Row& operator()(const Question& question) {
    const auto [entry, fresh] = rows_.try_emplace(question);
    if (!fresh) return entry->second;
    EXPECT_EQ(pair_.truncate(question.model, 0), 0);
    const auto rows = pair_.decode(question.model, question.context, 1);
    EXPECT_TRUE(rows) << rows.error().message;
    if (rows) entry->second.assign((*rows)[0].begin(), (*rows)[0].end());
    return entry->second;
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  Pair& pair_;
  std::map<Question, Row> rows_;
};

struct Tally {
  std::size_t compared = 0, ties = 0, handoffs = 0, dropped = 0;
  double largest_error = 0;

  Tally& operator+=(const Tally& other) {
    compared += other.compared, ties += other.ties, handoffs += other.handoffs, dropped += other.dropped;
    largest_error = std::max(largest_error, other.largest_error);
    return *this;
  }

  [[nodiscard]] std::string summary() const {
    return fmt::format("{} tokens compared, {} near-ties, largest logit difference {:.4f}, {} handoffs, {} dropped",
                       compared, ties, largest_error, handoffs, dropped);
  }
};

/// Runs one request both ways; goes on after every near-tie with the answer of the naive loop.
void compare_with_the_naive_loop(Pair& pair, FreshPrefill& prefill, const Request& request, Tally& tally) {
  std::vector<Answer> expected;
  const auto model = [&](Model which, std::span<const TokenId> context) {
    const Question question{which, {context.begin(), context.end()}};
    expected.push_back({question, prefill(question)});
    return expected.back().logits;
  };
  const std::size_t total = static_cast<std::size_t>(pair.limits().window) - request.prompt.size();
  const testing::NaiveResult naive = testing::naive_relay(pair.vocabulary(), request, model, total);

  Recorder recorder(pair);
  for (int round = 0; round < 20; ++round) {
    recorder.clear_answers();
    auto generation = Generation::create(recorder, request);
    ASSERT_TRUE(generation) << generation.error().message;
    const auto done = generation->run(recorder);
    ASSERT_TRUE(done) << done.error().message;
    const Completion completion = generation->completion();
    // The naive loop knows no forced tag: the comparison ends there.
    auto tokens = tokens_of(*generation);
    auto answers = recorder.answers();
    const bool forced = completion.usage.forced > 0;
    if (forced) {
      const auto first =
          std::find_if(tokens.begin(), tokens.end(), [](const auto& t) { return t.author == Author::forced; });
      tokens.erase(first, tokens.end());
      const std::size_t length = request.prompt.size() + tokens.size();
      std::erase_if(answers, [&](const Answer& answer) { return answer.question.context.size() > length; });
    }
    const Comparison comparison =
        compare(request, answers, expected, forced ? Ending::a_may_end_early : Ending::together);
    if (::testing::Test::HasFailure()) return;
    tally.largest_error = std::max(tally.largest_error, comparison.largest_error);
    if (comparison.tie) {
      ++tally.ties;
      recorder.replace(expected[*comparison.tie]);
      continue;
    }
    ASSERT_GE(naive.tokens.size(), tokens.size());
    ASSERT_TRUE(std::equal(tokens.begin(), tokens.end(), naive.tokens.begin()));
    ASSERT_TRUE(forced || tokens.size() == naive.tokens.size());
    tally.compared += comparison.equal;
    tally.handoffs += completion.usage.handoffs;
    tally.dropped += completion.usage.dropped;
    return;
  }
  FAIL() << "the runs part again and again";
}

TEST(RelayPair, TheLoopWritesWhatTheNaiveLoopWrites) {
  const auto pair = test::load_demo(), second = test::load_demo();
  ASSERT_TRUE(pair && second);
  // One seed a problem for all policies: their texts are alike over long stretches, which are computed once.
  FreshPrefill prefill(*second);
  Tally all;
  for (const std::string policy : {"relay", "random", "all-candidates", "small-only"}) {
    Tally tally;
    std::uint64_t seed = 0;
    for (const auto& problem : test::problems(4)) {
      for (const float temperature : {0.0F, 0.6F}) {
        Request request = demo_request(*pair, policy, problem.question);
        request.sampling.temperature = temperature;
        request.seed = ++seed;
        compare_with_the_naive_loop(*pair, prefill, request, tally);
        if (HasFailure()) return;
      }
    }
    std::printf("%s: %s\n", policy.c_str(), tally.summary().c_str());
    EXPECT_EQ(tally.handoffs > 0, policy != "small-only");
    all += tally;
  }
  RecordProperty("tokens_compared", std::to_string(all.compared));
  RecordProperty("near_ties", std::to_string(all.ties));
  std::printf("all: %s, %zu distinct contexts\n", all.summary().c_str(), prefill.size());
  EXPECT_GT(all.compared, 3000u);
  EXPECT_LE(all.ties * 100, all.compared);
}

}  // namespace
}  // namespace relaygen
