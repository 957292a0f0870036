#include "bench/plan.h"

#include <limits>
#include <unordered_map>

namespace relaygen::bench {
namespace {

// The tokens that some texts use, numbered anew, and one that ends a text. A dry run looks at a row of logits for every
// token, so a row should be no longer than it has to be.
class SmallVocabulary : public Vocabulary {
 public:
  explicit SmallVocabulary(const Vocabulary& inner) : inner_(inner) {}

  TokenId add(TokenId token) {
    const auto [place, is_new] = numbers_.try_emplace(token, static_cast<TokenId>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }
  std::vector<TokenId> add(std::span<const TokenId> tokens) {
    std::vector<TokenId> result;
    for (const TokenId token : tokens) result.push_back(add(token));
    return result;
  }

  [[nodiscard]] std::int32_t size() const noexcept override { return static_cast<std::int32_t>(tokens_.size()) + 1; }
  [[nodiscard]] std::string_view piece(TokenId token) const noexcept override {
    const auto index = static_cast<std::size_t>(token);
    return index < tokens_.size() ? inner_.piece(tokens_[index]) : std::string_view();
  }
  [[nodiscard]] bool ends_generation(TokenId token) const noexcept override { return token == size() - 1; }
  /// Tokens that no text uses are left out.
  [[nodiscard]] Result<std::vector<TokenId>> tokenize(std::string_view text) const override {
    auto tokens = inner_.tokenize(text);
    if (!tokens) return tokens;
    std::vector<TokenId> result;
    for (const TokenId token : *tokens) {
      if (const auto place = numbers_.find(token); place != numbers_.end()) result.push_back(place->second);
    }
    return result;
  }

 private:
  const Vocabulary& inner_;
  std::unordered_map<TokenId, TokenId> numbers_;
  std::vector<TokenId> tokens_;
};

}  // namespace

Result<std::vector<Plan>> plan_policies(const Engine& engine, std::span<const Trace> traces,
                                        std::span<const TokenId> prompt, std::span<const NamedPolicy> policies,
                                        const CostModel& costs, const RunOptions& options, double acceptance) {
  RunOptions priced = options;
  priced.costs = &costs;
  EngineLimits limits = engine.limits();
  limits.window = std::numeric_limits<std::int32_t>::max();  // nothing is held
  SmallVocabulary vocabulary(engine.vocabulary());
  const std::vector<TokenId> own_prompt = vocabulary.add(prompt);
  std::vector<Window> texts;
  for (const Trace& trace : traces)
    texts.push_back(whole_trace({trace.id, vocabulary.add(trace.tokens)}, own_prompt, PromptState::before_thinking));

  std::vector<Plan> plans;
  for (const NamedPolicy& policy : policies) {
    Plan plan{.policy = policy.name};
    for (const Window& text : texts) {
      DryEngine empty(vocabulary, limits);
      Replayer replayer(empty);
      if (auto ok = replayer.prepare(text); !ok) return tl::unexpected(ok.error());
      for (const Model model : {Model::large, Model::small}) (void)empty.truncate(model, 0);
      auto account = replayer.run(policy, priced, acceptance);
      if (!account) return tl::unexpected(account.error());
      plan.ideal += ideal_time(account->schedule, costs);
      plan.usage += account->usage;
    }
    plans.push_back(std::move(plan));
  }
  for (Plan& plan : plans) plan.speed_up = plans.front().ideal.seconds() / plan.ideal.seconds();
  return plans;
}

}  // namespace relaygen::bench
