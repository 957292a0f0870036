// The loop on the bundled pair: requests, and a record of everything that a run asked of the models.
//
// A run is a sequence of questions: what comes after these tokens? The loop answers them from caches that grew in
// batches of any shape, the naive loop from an empty cache. The shape of a batch changes the floating-point results a
// little, so two runs need not ask the same questions for ever. They have to agree up to the first different answer,
// and that answer has to be a near-tie: the sampling rule, applied to both rows of logits, gives the two different
// tokens although no logit differs by more than the error that the batch's shape makes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "integration/model_files.h"
#include "relaygen/policies.h"
#include "relaygen/relay.h"
#include "support/naive_loop.h"

namespace relaygen::test {

/// Logits of one position differ by less than this with the shape of the batches that led there. 0.053 was measured over
/// 4,700 positions of the bundled pair's own text (logits of some 20; a wrong token in a cache changes them by whole
/// units).
constexpr double kShapeError = 0.1;

using Tokens = std::vector<TokenId>;
using Row = std::vector<float>;

struct Question {
  Model model;
  Tokens context;
  bool operator==(const Question&) const = default;
  auto operator<=>(const Question&) const = default;
};

struct Answer {
  Question question;
  Row logits;
};

inline double distance(std::span<const float> a, std::span<const float> b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  }
  return most;
}

/// Passes everything on to an engine and keeps what was asked. Knows which tokens each cache holds; they begin empty.
class Recorder final : public Engine {
 public:
  explicit Recorder(Engine& engine) : engine_(engine) {
    for (const Model model : {Model::large, Model::small}) static_cast<void>(engine.truncate(model, 0));
  }

  const Vocabulary& vocabulary() const noexcept override { return engine_.vocabulary(); }
  EngineLimits limits() const noexcept override { return engine_.limits(); }
  std::int32_t cached(Model model) const noexcept override { return engine_.cached(model); }

  std::int32_t truncate(Model model, std::int32_t length) override {
    const std::int32_t left = engine_.truncate(model, length);
    cache(model).resize(static_cast<std::size_t>(left));
    return left;
  }

  Result<LogitRows> decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) override {
    auto rows = engine_.decode(model, tokens, output_rows);
    decoded_ += tokens.size();
    Tokens& held = cache(model);
    const auto now = static_cast<std::size_t>(engine_.cached(model));
    if (now < held.size()) held.resize(now);
    const std::size_t grown = now - held.size();
    EXPECT_LE(grown, tokens.size());
    held.insert(held.end(), tokens.begin(),
                tokens.begin() + static_cast<std::ptrdiff_t>(std::min(grown, tokens.size())));
    if (!rows || output_rows == 0) return rows;
    const std::span<const float> last = (*rows)[rows->size() - 1];
    answers_.push_back({{model, held}, {last.begin(), last.end()}});
    const auto other = replaced_.find(answers_.back().question);
    if (other == replaced_.end()) return rows;
    changed_.clear();
    for (std::size_t i = 0; i + 1 < rows->size(); ++i) changed_.push_back((*rows)[i]);
    changed_.emplace_back(other->second);
    return LogitRows(changed_);
  }

  /// From now on this question gets this answer: how a run goes on as the reference did after a near-tie.
  void replace(const Answer& answer) { replaced_[answer.question] = answer.logits; }
  void clear_answers() { answers_.clear(); }

  [[nodiscard]] const std::vector<Answer>& answers() const { return answers_; }
  [[nodiscard]] std::size_t decoded() const { return decoded_; }

 private:
  Tokens& cache(Model model) { return caches_[static_cast<std::size_t>(model)]; }

  Engine& engine_;
  std::array<Tokens, 2> caches_;
  std::vector<Answer> answers_;
  std::vector<std::span<const float>> changed_;
  std::map<Question, Row> replaced_;
  std::size_t decoded_ = 0;
};

/// Two runs of one request side by side.
struct Comparison {
  std::size_t equal = 0;             ///< questions that both asked
  std::optional<std::size_t> tie{};  ///< the last of them, where it is a near-tie after which the runs part
  double largest_error = 0;          ///< over the logits of those
};

/// Compares what two runs were told. Whatever is no near-tie is a test failure. `a` may end early where `may_end`.
enum class Ending { together, a_may_end_early };
inline Comparison compare(const Request& request, const std::vector<Answer>& a, const std::vector<Answer>& b,
                          Ending ending = Ending::together) {
  Comparison result;
  const std::size_t both = std::min(a.size(), b.size());
  while (result.equal < both && a[result.equal].question == b[result.equal].question) {
    result.largest_error = std::max(result.largest_error, distance(a[result.equal].logits, b[result.equal].logits));
    ++result.equal;
  }
  EXPECT_LT(result.largest_error, kShapeError);
  if (result.equal == a.size() && (result.equal == b.size() || ending == Ending::a_may_end_early)) return result;
  if (result.equal == 0) {
    ADD_FAILURE() << "the runs do not even begin alike";
    return result;
  }
  const std::size_t last = result.equal - 1;
  Sampler sampler(request.sampling, Noise(request.seed, NoiseStream::tokens, request.choice));
  const Tokens& context = a[last].question.context;
  const TokenId one = sampler.choose(a[last].logits, context, context.size()).token;
  const TokenId other = sampler.choose(b[last].logits, context, context.size()).token;
  EXPECT_NE(one, other) << "the runs part after question " << last << " (token " << context.size()
                        << ") though it has one answer";
  result.tie = last;
  return result;
}

struct Problem {
  std::string question, answer;
};

inline std::vector<Problem> problems(std::size_t count) {
  std::vector<Problem> result;
  std::ifstream in(RELAYGEN_SOURCE_DIR "/models/demo/problems.heldout.jsonl");
  for (std::string line; result.size() < count && std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    result.push_back({json.at("question"), json.at("answer")});
  }
  EXPECT_EQ(result.size(), count);
  return result;
}

inline std::unique_ptr<Pair> load_demo() {
  auto pair = Pair::load(demo_options());
  if (!pair) ADD_FAILURE() << pair.error().message;
  return pair ? std::move(*pair) : nullptr;
}

/// The request that `relaygen run --policy NAME` makes.
inline Request demo_request(const Pair& pair, std::string_view policy, std::span<const ChatMessage> messages) {
  const auto profile = read_profile(RELAYGEN_SOURCE_DIR "/profiles/demo.json");
  EXPECT_TRUE(profile) << profile.error().message;
  PolicyChoice choice;
  choice.name = policy;
  choice.random_rate = 0.5;
  auto prepared = prepare_policy(choice, *profile);
  EXPECT_TRUE(prepared) << prepared.error().message;
  auto prompt = pair.render(messages, true);
  EXPECT_TRUE(prompt) << prompt.error().message;
  Request request;
  request.prompt = std::move(prompt->tokens);
  request.tags = std::move(prompt->tags);
  request.prompt_state = prompt->state;
  request.policy = prepared->policy;
  request.cues = std::move(prepared->cues);
  return request;
}

inline Request demo_request(const Pair& pair, std::string_view policy, const std::string& question) {
  const std::vector<ChatMessage> messages{{"user", question}};
  return demo_request(pair, policy, messages);
}

inline std::vector<testing::NaiveToken> tokens_of(const Generation& generation) {
  std::vector<testing::NaiveToken> tokens;
  for (const TokenRecord& record : generation.log().records().subspan(generation.request().prompt.size())) {
    tokens.push_back({record.id, record.author});
  }
  return tokens;
}

}  // namespace relaygen::test
