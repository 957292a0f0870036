// The engine's contract on the bundled pair.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>

#include "integration/model_files.h"

namespace relaygen {
namespace {

using test::demo_options;
using Row = std::vector<float>;

/// Logits of one position differ by less than this with the shape of the batch (0.053 was measured on real text).
constexpr double kTolerance = 0.1;

class PairEngine : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    PairOptions options = demo_options();
    options.micro_batch = 64;  // several a batch, so that a decode can stop half-way
    auto loaded = Pair::load(options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    pair_ = std::move(*loaded);
  }
  static void TearDownTestSuite() { pair_.reset(); }

  void SetUp() override {
    pair_->clear_stop();
    for (const Model model : {Model::large, Model::small}) ASSERT_EQ(pair_->truncate(model, 0), 0);
  }

  static std::vector<TokenId> text(std::size_t count, std::uint64_t seed = 0) {
    std::mt19937_64 random(seed);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 756);
    return tokens;
  }

  static Row row_of(std::span<const float> row) { return {row.begin(), row.end()}; }

  static Row decode_last(Model model, std::span<const TokenId> tokens) {
    const auto rows = pair_->decode(model, tokens, 1);
    if (!rows) ADD_FAILURE() << rows.error().message;
    return rows ? row_of((*rows)[0]) : Row{};
  }

  static double distance(const Row& a, const Row& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
    return most;
  }

  static std::unique_ptr<Pair> pair_;
};

std::unique_ptr<Pair> PairEngine::pair_;

TEST_F(PairEngine, VocabularyKnowsPiecesAndEnds) {
  const Vocabulary& vocabulary = pair_->vocabulary();
  const auto tokens = vocabulary.tokenize("<think>\nSo, 12 + 30 = 42.\n</think>");
  ASSERT_TRUE(tokens);
  std::string joined;
  for (const TokenId token : *tokens) joined += vocabulary.piece(token);
  EXPECT_EQ(joined, "<think>\nSo, 12 + 30 = 42.\n</think>");
  EXPECT_EQ(vocabulary.piece(tokens->front()), "<think>");
  EXPECT_EQ(vocabulary.piece(tokens->back()), "</think>");
  int ends = 0;
  for (TokenId token = 0; token < vocabulary.size(); ++token) ends += vocabulary.ends_generation(token) ? 1 : 0;
  EXPECT_GE(ends, 1);
  EXPECT_TRUE(vocabulary.ends_generation(vocabulary.tokenize("<|im_end|>")->front()));
  for (const TokenId outside : {-1, vocabulary.size(), 1 << 30}) {
    EXPECT_EQ(vocabulary.piece(outside), "");
    EXPECT_FALSE(vocabulary.ends_generation(outside));
  }
}

TEST_F(PairEngine, TokenizeTakesUtf8Only) {
  EXPECT_TRUE(pair_->vocabulary().tokenize("").value().empty());
  EXPECT_TRUE(pair_->vocabulary().tokenize("Grüße, 你好, 🙂 \n\n\t").has_value());
  EXPECT_TRUE(pair_->vocabulary().tokenize(std::string_view("a\0b", 3)).has_value());
  for (const std::string_view bad : {"\xff", "\xc3", "a\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    const auto tokens = pair_->vocabulary().tokenize(bad);
    ASSERT_FALSE(tokens);
    EXPECT_EQ(tokens.error().kind, ErrorKind::bad_input);
  }
}

TEST_F(PairEngine, LogitsDoNotDependOnTheShapeOfBatches) {
  for (const Model model : {Model::large, Model::small}) {
    double most = 0;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::vector<TokenId> tokens = text(60, seed);
      ASSERT_EQ(pair_->truncate(model, 0), 0);
      const auto rows = pair_->decode(model, tokens, 60);
      ASSERT_TRUE(rows) << rows.error().message;
      ASSERT_EQ(rows->size(), 60u);
      std::vector<Row> together;
      for (std::size_t i = 0; i < 60; ++i) together.push_back(row_of((*rows)[i]));
      ASSERT_EQ(pair_->truncate(model, 0), 0);
      for (std::size_t i = 0; i < 60; ++i)
        most = std::max(most, distance(together[i], decode_last(model, std::span(tokens).subspan(i, 1))));
      for (const std::size_t chunk : {2, 3, 4, 7, 16}) {
        ASSERT_EQ(pair_->truncate(model, 0), 0);
        for (std::size_t i = 0; i + chunk <= 60; i += chunk) {
          most = std::max(most,
                          distance(together[i + chunk - 1], decode_last(model, std::span(tokens).subspan(i, chunk))));
        }
      }
    }
    RecordProperty(std::string("largest_logit_difference_") + std::string(name(model)), std::to_string(most));
    std::printf("largest logit difference with the batch's shape, %s model: %.6f\n", std::string(name(model)).c_str(),
                most);
    EXPECT_LT(most, kTolerance);
  }
}

TEST_F(PairEngine, RowsAreThoseOfTheLastTokens) {
  const std::vector<TokenId> tokens = text(20);
  for (const std::int32_t wanted : {1, 5, 20}) {
    ASSERT_EQ(pair_->truncate(Model::large, 0), 0);
    const auto all = pair_->decode(Model::large, tokens, 20);
    ASSERT_TRUE(all);
    std::vector<Row> expected;
    for (std::size_t i = 0; i < 20; ++i) expected.push_back(row_of((*all)[i]));
    ASSERT_EQ(pair_->truncate(Model::large, 0), 0);
    const auto some = pair_->decode(Model::large, tokens, wanted);
    ASSERT_TRUE(some);
    ASSERT_EQ(some->size(), static_cast<std::size_t>(wanted));
    for (std::size_t i = 0; i < some->size(); ++i) {
      EXPECT_EQ((*some)[i].size(), 763u);
      EXPECT_LT(distance(row_of((*some)[i]), expected[20 - some->size() + i]), kTolerance);
    }
  }
}

TEST_F(PairEngine, OutputRowsMayLieInSeveralMicroBatches) {
  const std::vector<TokenId> tokens = text(100);
  const auto rows = pair_->decode(Model::large, tokens, 50);  // rows 50 to 99; the first micro-batch ends after row 63
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 50u);
  std::vector<Row> copy;
  for (std::size_t i = 0; i < 50; ++i) copy.push_back(row_of((*rows)[i]));
  ASSERT_EQ(pair_->truncate(Model::large, 0), 0);
  ASSERT_TRUE(pair_->decode(Model::large, std::span(tokens).first(50), 0));
  for (std::size_t i = 0; i < 50; ++i)
    EXPECT_LT(distance(copy[i], decode_last(Model::large, std::span(tokens).subspan(50 + i, 1))), kTolerance);
}

TEST_F(PairEngine, DecodeWithoutOutputOnlyFillsTheCache) {
  const std::vector<TokenId> tokens = text(30);
  const auto rows = pair_->decode(Model::small, std::span(tokens).first(29), 0);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->size(), 0u);
  EXPECT_EQ(pair_->cached(Model::small), 29);
  EXPECT_EQ(pair_->cached(Model::large), 0);
  const Row after = decode_last(Model::small, std::span(tokens).last(1));
  ASSERT_EQ(pair_->truncate(Model::small, 0), 0);
  EXPECT_LT(distance(after, decode_last(Model::small, tokens)), kTolerance);
}

TEST_F(PairEngine, TruncateCutsTheEnd) {
  const std::vector<TokenId> tokens = text(40);
  const Row expected = decode_last(Model::large, tokens);
  EXPECT_EQ(pair_->truncate(Model::large, 41), 40);  // beyond: nothing changes
  EXPECT_EQ(pair_->truncate(Model::large, 40), 40);
  EXPECT_EQ(pair_->truncate(Model::large, 25), 25);
  EXPECT_EQ(pair_->cached(Model::large), 25);
  EXPECT_LT(distance(expected, decode_last(Model::large, std::span(tokens).last(15))), kTolerance);
  EXPECT_EQ(pair_->truncate(Model::large, -3), 0);
}

TEST_F(PairEngine, OtherTokensAfterACutReplaceTheOldOnes) {
  const std::vector<TokenId> first = text(40, 1), second = text(40, 2);
  decode_last(Model::large, first);
  ASSERT_EQ(pair_->truncate(Model::large, 10), 10);
  const Row mixed = decode_last(Model::large, std::span(second).last(30));
  std::vector<TokenId> same(first.begin(), first.begin() + 10);
  same.insert(same.end(), second.begin() + 10, second.end());
  ASSERT_EQ(pair_->truncate(Model::large, 0), 0);
  EXPECT_LT(distance(mixed, decode_last(Model::large, same)), kTolerance);
}

TEST_F(PairEngine, AFullWindowIsAnErrorThatChangesNothing) {
  const std::vector<TokenId> tokens = text(512);
  const auto most = static_cast<std::size_t>(pair_->limits().batch);
  ASSERT_EQ(most, 512u);
  ASSERT_TRUE(pair_->decode(Model::large, std::span(tokens).first(500), 1));
  const auto over = pair_->decode(Model::large, std::span(tokens).first(13), 1);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().kind, ErrorKind::no_cache_slot);
  EXPECT_EQ(pair_->cached(Model::large), 500);
  ASSERT_TRUE(pair_->decode(Model::large, std::span(tokens).last(12), 1));
  EXPECT_EQ(pair_->cached(Model::large), 512);
  EXPECT_FALSE(pair_->decode(Model::large, std::span(tokens).first(1), 1));
  EXPECT_EQ(pair_->cached(Model::large), 512);
}

TEST_F(PairEngine, CallsThatBreakTheContractAreErrorsToo) {
  const std::vector<TokenId> tokens = text(513);
  const std::array<TokenId, 1> negative{-1}, beyond{763};
  const auto expect_internal = [&](std::span<const TokenId> some, std::int32_t rows) {
    const auto result = pair_->decode(Model::large, some, rows);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::internal);
    EXPECT_EQ(pair_->cached(Model::large), 0);
  };
  expect_internal({}, 0);
  expect_internal(tokens, 1);
  expect_internal(std::span(tokens).first(3), 4);
  expect_internal(std::span(tokens).first(3), -1);
  expect_internal(std::span(tokens).first(100), 65);
  expect_internal(negative, 1);
  expect_internal(beyond, 1);
}

TEST_F(PairEngine, AStopHoldsUntilItIsCleared) {
  const std::vector<TokenId> tokens = text(10);
  ASSERT_TRUE(pair_->decode(Model::large, tokens, 1));
  pair_->request_stop();
  for (const Model model : {Model::large, Model::small}) {
    const auto stopped = pair_->decode(model, tokens, 1);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  }
  EXPECT_EQ(pair_->cached(Model::large), 10);
  pair_->clear_stop();
  EXPECT_TRUE(pair_->decode(Model::large, tokens, 1));
  EXPECT_EQ(pair_->cached(Model::large), 20);
}

TEST_F(PairEngine, AStopDuringADecodeLeavesAConsistentCache) {
  const std::vector<TokenId> tokens = text(500);
  const Row expected = decode_last(Model::large, tokens);
  int stopped_half_way = 0;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(pair_->truncate(Model::large, 0), 0);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(500 + 4000 * round));
      pair_->request_stop();
    });
    const auto rows = pair_->decode(Model::large, tokens, 1);
    stopper.join();
    pair_->clear_stop();
    const std::int32_t held = pair_->cached(Model::large);
    if (rows) {
      ASSERT_EQ(held, 500);
      continue;
    }
    ASSERT_EQ(rows.error().kind, ErrorKind::cancelled) << rows.error().message;
    ASSERT_EQ(held % 64, 0);  // whole micro-batches
    ASSERT_LT(held, 500);
    stopped_half_way += held > 0 ? 1 : 0;
    ASSERT_LT(distance(expected, decode_last(Model::large, std::span(tokens).subspan(static_cast<std::size_t>(held)))),
              kTolerance);
  }
  std::printf("decodes stopped half-way: %d of 20\n", stopped_half_way);
}

TEST_F(PairEngine, AnyOrderOfOperationsEqualsAFreshStart) {
  std::mt19937_64 random(7);
  std::array<std::vector<TokenId>, 2> held;  // what each cache should hold
  std::array<double, 2> most{};
  for (int step = 0; step < 400; ++step) {
    const Model model = random() % 2 == 0 ? Model::large : Model::small;
    std::vector<TokenId>& tokens = held[static_cast<std::size_t>(model)];
    if (random() % 4 == 0) {
      const auto length = static_cast<std::int32_t>(random() % (tokens.size() + 1));
      ASSERT_EQ(pair_->truncate(model, length), length);
      tokens.resize(static_cast<std::size_t>(length));
      continue;
    }
    const std::size_t count = 1 + random() % (random() % 3 == 0 ? 80 : 8);
    const std::vector<TokenId> more = text(count, random());
    const auto rows = static_cast<std::int32_t>(random() % (std::min<std::size_t>(count, 64) + 1));
    const auto result = pair_->decode(model, more, rows);
    if (tokens.size() + count > 512) {
      ASSERT_FALSE(result);
      ASSERT_EQ(result.error().kind, ErrorKind::no_cache_slot);
    } else {
      ASSERT_TRUE(result) << result.error().message;
      ASSERT_EQ(result->size(), static_cast<std::size_t>(rows));
      tokens.insert(tokens.end(), more.begin(), more.end());
    }
    ASSERT_EQ(pair_->cached(model), static_cast<std::int32_t>(tokens.size()));
    if (!result || rows == 0 || step % 5 != 0) continue;
    const Row got = row_of((*result)[static_cast<std::size_t>(rows) - 1]);
    ASSERT_EQ(pair_->truncate(model, 0), 0);
    const double error = distance(got, decode_last(model, tokens));
    most[static_cast<std::size_t>(model)] = std::max(most[static_cast<std::size_t>(model)], error);
    ASSERT_LT(error, kTolerance) << "step " << step;
  }
  std::printf("largest logit difference to a fresh start: large %.6f, small %.6f\n", most[0], most[1]);
}

TEST(PairThreads, TwoThreadsGiveTheSameLogits) {
  PairOptions options = demo_options();
  const auto one = Pair::load(options);
  options.threads = 2;
  options.threads_batch = 1;
  const auto two = Pair::load(options);
  ASSERT_TRUE(one && two);
  std::vector<TokenId> tokens(30);
  std::iota(tokens.begin(), tokens.end(), 100);
  for (const Model model : {Model::large, Model::small}) {
    for (std::size_t i = 0; i < tokens.size(); i += 10) {
      const auto a = (*one)->decode(model, std::span(tokens).subspan(i, 10), 1);
      const auto b = (*two)->decode(model, std::span(tokens).subspan(i, 10), 1);
      ASSERT_TRUE(a && b);
      for (std::size_t k = 0; k < (*a)[0].size(); ++k) ASSERT_NEAR((*a)[0][k], (*b)[0][k], kTolerance);
    }
  }
}

}  // namespace
}  // namespace relaygen
