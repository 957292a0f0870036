// Drafts and strict verification on the bundled pair: the text is the large model's own, up to near-ties.
//
// Batches of another shape round otherwise. Where two runs part, the token of the one has to win under the other's
// logits once these are changed by no more than that error; then the comparison goes on behind the parting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "integration/relay_pair.h"

namespace relaygen {
namespace {

using test::demo_request;
using test::kShapeError;

// RELAYGEN_EXACT_PROBLEMS=500 is what the documentation tells of.
std::size_t problem_count() {
  const char* wanted = std::getenv("RELAYGEN_EXACT_PROBLEMS");
  return wanted == nullptr ? 10 : std::strtoull(wanted, nullptr, 10);
}

struct Tally {
  std::size_t tokens = 0, ties = 0, drafted = 0, accepted = 0, verified = 0, refused = 0;
};

class Exact : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { pair_ = test::load_demo(); }
  static void TearDownTestSuite() { pair_.reset(); }

  static std::vector<TokenId> written(const Generation& generation) {
    const auto ids = generation.log().ids().subspan(generation.request().prompt.size());
    return {ids.begin(), ids.end()};
  }

  // Whether rounding alone can make the large model choose `other` where it chose `own`.
  static bool is_near_tie(const Request& request, const std::vector<TokenId>& context, TokenId own, TokenId other) {
    (void)pair_->truncate(Model::large, 0);
    pair_->set_owner(0);
    const auto rows = pair_->decode(Model::large, context, 1);
    EXPECT_TRUE(rows);
    std::vector<float> logits((*rows)[0].begin(), (*rows)[0].end());
    logits[static_cast<std::size_t>(own)] -= static_cast<float>(kShapeError);
    logits[static_cast<std::size_t>(other)] += static_cast<float>(kShapeError);
    Sampler sampler(request.sampling, Noise(request.seed, NoiseStream::tokens, request.choice));
    return sampler.choose(logits, context, context.size()).token == other;
  }

  static void compare(const std::string& question, std::string_view policy, float temperature, Tally& tally) {
    Request own = demo_request(*pair_, "large-only", question);
    Request other = demo_request(*pair_, policy, question);
    own.sampling.temperature = other.sampling.temperature = temperature;
    own.seed = other.seed = 5;
    other.policy.min_large_tokens = 0;
    for (int round = 0; round < 50; ++round) {
      auto a = Generation::create(*pair_, own);
      auto b = Generation::create(*pair_, other);
      ASSERT_TRUE(a && b);
      ASSERT_TRUE(a->run(*pair_));
      ASSERT_TRUE(b->run(*pair_));
      const auto x = written(*a), y = written(*b);
      const auto usage = b->completion().usage;
      tally.drafted += usage.drafted, tally.accepted += usage.accepted;
      tally.verified += usage.verified, tally.refused += usage.refused;
      const auto [p, q] = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
      const auto equal = static_cast<std::size_t>(p - x.begin());
      tally.tokens += equal;
      if (p == x.end() && q == y.end()) return;
      std::vector<TokenId> context = own.prompt;
      context.insert(context.end(), x.begin(), p);
      const auto next = [&](auto at, const auto& all) {
        TokenId end = 0;
        while (!pair_->vocabulary().ends_generation(end)) ++end;
        return at == all.end() ? end : *at;
      };
      ASSERT_TRUE(is_near_tie(own, context, next(p, x), next(q, y)))
          << policy << " at " << temperature << ", token " << equal << " of: " << question;
      ++tally.ties;
      if (q == y.end()) return;
      if (equal == 0 || a->log()[own.prompt.size() + equal - 1].phase == Phase::answer) return;
      // Both go on from what the second one wrote.
      context.push_back(*q);
      for (Request* request : {&own, &other}) {
        request->continued += context.size() - request->prompt.size();
        request->prompt = context;
        request->prompt_state = PromptState::thinking;
      }
    }
    FAIL() << "the runs part again and again";
  }

  static std::unique_ptr<Pair> pair_;
};

std::unique_ptr<Pair> Exact::pair_;

TEST_F(Exact, DraftsAndStrictVerificationWriteWhatTheLargeModelWrites) {
  ASSERT_TRUE(pair_);
  for (const char* policy : {"large-only+draft", "relay+strict+draft", "relay+always+strict"}) {
    Tally tally;
    for (const float temperature : {0.0F, 0.6F}) {
      for (const auto& problem : test::problems(problem_count())) {
        compare(problem.question, policy, temperature, tally);
        if (HasFatalFailure()) return;
      }
    }
    std::puts(fmt::format("{}: {} tokens, {} near-ties; {} of {} guesses stood, {} small tokens verified, {} dropped",
                          policy, tally.tokens, tally.ties, tally.accepted, tally.drafted, tally.verified,
                          tally.refused)
                  .c_str());
    EXPECT_LE(tally.ties, 1 + tally.tokens / 500);
    EXPECT_GT(tally.accepted + tally.verified, tally.tokens / 4);
  }
}

// The distribution that Qwen3's usual filters leave (temperature 0.6, top-k 20, top-p 0.95), in the plainest way.
std::vector<double> filtered(std::span<const float> logits) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < logits.size(); ++i) order.emplace_back(static_cast<double>(logits[i]) / 0.6, i);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min<std::size_t>(order.size(), 20));
  const double most = order.front().first;
  double all = 0, kept = 0;
  for (auto& [value, token] : order) all += value = std::exp(value - most);
  std::vector<double> p(logits.size(), 0.0);
  for (const auto& [value, token] : order) {
    if (kept >= 0.95 * all) break;
    p[token] = value;
    kept += value;
  }
  for (double& one : p) one /= kept;
  return p;
}

// Rejection sampling (Leviathan et al., arXiv 2211.17192) accepts a guess with probability sum_i min(p_i, q_i), which is
// the most that any rule can. The rule with shared noise accepts it where both models choose alike.
TEST_F(Exact, SharedNoiseAcceptsNearlyAsManyGuessesAsRejectionSampling) {
  ASSERT_TRUE(pair_);
  std::size_t places = 0, alike = 0;
  double rejection = 0;
  for (const auto& problem : test::problems(problem_count())) {
    Request request = demo_request(*pair_, "large-only", problem.question);
    request.sampling.temperature = 0.6F;
    auto writer = Generation::create(*pair_, request);
    ASSERT_TRUE(writer && writer->run(*pair_));
    const std::vector<TokenId> ids(writer->log().ids().begin(), writer->log().ids().end());
    std::array<std::vector<std::vector<float>>, 2> rows;
    pair_->set_owner(0);
    for (const Model model : {Model::large, Model::small}) {
      (void)pair_->truncate(model, 0);
      for (std::size_t begin = 0; begin < ids.size();) {
        const std::size_t count = std::min<std::size_t>(ids.size() - begin, 64);
        const auto some = pair_->decode(model, std::span(ids).subspan(begin, count), static_cast<std::int32_t>(count));
        ASSERT_TRUE(some);
        for (std::size_t i = 0; i < some->size(); ++i)
          rows[static_cast<std::size_t>(model)].emplace_back((*some)[i].begin(), (*some)[i].end());
        begin += count;
      }
    }
    Sampler sampler(request.sampling, Noise(request.seed, NoiseStream::tokens, request.choice));
    for (std::size_t at = request.prompt.size() - 1; at + 1 < ids.size(); ++at) {
      const auto p = filtered(rows[0][at]), q = filtered(rows[1][at]);
      for (std::size_t i = 0; i < p.size(); ++i) rejection += std::min(p[i], q[i]);
      alike += sampler.choose(rows[0][at], {}, at + 1).token == sampler.choose(rows[1][at], {}, at + 1).token;
      ++places;
    }
  }
  const auto share = [&](double count) { return count / static_cast<double>(places); };
  std::puts(fmt::format("{} places: shared noise accepts {:.4f}, rejection sampling {:.4f}", places,
                        share(static_cast<double>(alike)), share(rejection))
                .c_str());
  // With tokens x and y from p and q by shared Gumbel noise, P(x = y) >= (1 - TV) / (1 + TV); rejection sampling has 1 - TV.
  const double distance = 1 - share(rejection);
  const double deviation = 4 * 0.5 / std::sqrt(static_cast<double>(places));
  EXPECT_GE(share(static_cast<double>(alike)), (1 - distance) / (1 + distance) - deviation);
  EXPECT_LE(share(static_cast<double>(alike)), 1 - distance + deviation);
}

}  // namespace
}  // namespace relaygen
