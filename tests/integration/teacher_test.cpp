// Teacher forcing of the bundled pair: what large batches say is what reading token by token says.
#include "calibrate/teacher.h"

#include <fstream>

#include "integration/relay_pair.h"

namespace relaygen {
namespace {

TEST(TeacherForcing, AgreesWithReadingTokenByToken) {
  const auto pair = test::load_demo();
  ASSERT_NE(pair, nullptr);
  std::ifstream file(RELAYGEN_SOURCE_DIR "/models/demo/problems.calibration.jsonl");
  const std::atomic<bool> cancel{false};
  std::size_t tokens_compared = 0;
  std::string line;
  for (int i = 0; i < 6 && std::getline(file, line); ++i) {
    const auto problem = nlohmann::json::parse(line);
    const auto prompt = pair->render(std::array{ChatMessage{"user", problem["question"]}}, true);
    ASSERT_TRUE(prompt) << prompt.error().message;
    const auto tokens = pair->vocabulary().tokenize(problem["solution"].get<std::string>());
    ASSERT_TRUE(tokens);
    for (const Model model : {Model::large, Model::small}) {
      const auto batched = calibrate::opinions_of(*pair, model, prompt->tokens, *tokens, *tokens, cancel);
      ASSERT_TRUE(batched) << batched.error().message;
      ASSERT_EQ(batched->margin.size(), tokens->size());
      EXPECT_EQ(batched->of_asked, batched->logprob);  // the token itself was asked for

      pair->truncate(model, 0);
      auto row = pair->decode(model, prompt->tokens, 1);
      for (std::size_t at = 0; at < tokens->size(); ++at) {
        ASSERT_TRUE(row) << row.error().message;
        const auto logits = (*row)[0];
        double sum = 0;
        for (const float x : logits) sum += std::exp(double{x});
        std::vector<double> p;
        for (const float x : logits) p.push_back(std::exp(double{x}) / sum);
        std::ranges::nth_element(p, p.begin() + 1, std::greater<>());
        const double margin = std::abs(p[0] - p[1]);
        // Logits differ by less than kShapeError, so probabilities by less than that part of themselves.
        EXPECT_NEAR(double{batched->margin[at]}, margin, 2 * test::kShapeError);
        EXPECT_NEAR(double{batched->logprob[at]},
                    double{logits[static_cast<std::size_t>((*tokens)[at])]} - std::log(sum), 2 * test::kShapeError);
        ++tokens_compared;
        row = pair->decode(model, std::span(*tokens).subspan(at, 1), 1);
      }
    }
  }
  EXPECT_GT(tokens_compared, 1000U);
}

}  // namespace
}  // namespace relaygen
