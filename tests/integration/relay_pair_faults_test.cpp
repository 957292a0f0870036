// Whatever fails under the loop on the bundled pair, and at whatever step: the error is a value, what was written
// stays, and the text goes on as if nothing had happened.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "integration/relay_pair.h"
#include "support/alloc_faults.h"

namespace relaygen {
namespace {

using test::Answer;
using test::demo_request;
using test::Recorder;

enum class Grown { nothing, half, all };  // how much of the failed batch is in the cache afterwards

struct Fault {
  ErrorKind kind;
  Grown grown;
};

/// Fails at one decode, having put a part of the batch into the cache.
class FaultyEngine final : public Engine {
 public:
  FaultyEngine(Pair& pair, std::uint64_t at, Fault fault) : pair_(pair), at_(at), fault_(fault) {}

  const Vocabulary& vocabulary() const noexcept override { return pair_.vocabulary(); }
  EngineLimits limits() const noexcept override { return pair_.limits(); }
  std::int32_t cached(Model model) const noexcept override { return pair_.cached(model); }
  std::int32_t truncate(Model model, std::int32_t length) override { return pair_.truncate(model, length); }

  Result<LogitRows> decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) override {
    if (decodes_++ != at_) return pair_.decode(model, tokens, output_rows);
    const std::size_t grown = fault_.grown == Grown::nothing ? 0
                              : fault_.grown == Grown::half  ? tokens.size() / 2
                                                             : tokens.size();
    if (grown > 0) {
      EXPECT_TRUE(pair_.decode(model, tokens.first(grown), 0));
    }
    return fail(fault_.kind, "a fault that a test injected");
  }

  [[nodiscard]] std::uint64_t decodes() const { return decodes_; }

 private:
  Pair& pair_;
  std::uint64_t at_;
  Fault fault_;
  std::uint64_t decodes_ = 0;
};

/// Decodes in a thread of its own, where no allocation is made to fail.
class ElsewhereEngine final : public Engine {
 public:
  explicit ElsewhereEngine(Pair& pair) : pair_(pair) {}
  ~ElsewhereEngine() override {
    hand_over(Turn::over);
    thread_.join();
  }
  ElsewhereEngine(const ElsewhereEngine&) = delete;
  ElsewhereEngine& operator=(const ElsewhereEngine&) = delete;

  const Vocabulary& vocabulary() const noexcept override { return pair_.vocabulary(); }
  EngineLimits limits() const noexcept override { return pair_.limits(); }
  std::int32_t cached(Model model) const noexcept override { return pair_.cached(model); }
  std::int32_t truncate(Model model, std::int32_t length) override { return pair_.truncate(model, length); }

  Result<LogitRows> decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) override {
    model_ = model, tokens_ = tokens, output_rows_ = output_rows;
    hand_over(Turn::decoder);
    wait_for([](Turn turn) { return turn == Turn::caller; });
    return std::move(result_);
  }

 private:
  enum class Turn { caller, decoder, over };

  void hand_over(Turn turn) {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
    changed_.notify_all();
  }
  template <typename Wanted>
  Turn wait_for(Wanted wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return wanted(turn_); });
    return turn_;
  }
  void work() {
    while (wait_for([](Turn turn) { return turn != Turn::caller; }) == Turn::decoder) {
      result_ = pair_.decode(model_, tokens_, output_rows_);
      hand_over(Turn::caller);
    }
  }

  Pair& pair_;
  Model model_ = Model::large;
  std::span<const TokenId> tokens_;
  std::int32_t output_rows_ = 0;
  Result<LogitRows> result_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Turn turn_ = Turn::caller;
  std::thread thread_{[this] { work(); }};  // last: uses the others
};

constexpr std::uint64_t kNever = ~std::uint64_t{0};

class RelayPairFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    pair_ = test::load_demo();
    ASSERT_NE(pair_, nullptr);
    // Late enough in the text for handoffs, and short: the prompt holds the beginning of the thought.
    const std::string question = test::problems(1).front().question;
    request_ = demo_request(*pair_, "all-candidates", question);
    request_.sampling.temperature = 0;
    Recorder whole(*pair_);
    const auto text = run_to_the_end(request_, whole);
    const auto ids = text.log().ids();
    request_.prompt.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(request_.prompt.size() + 14));
    request_.prompt_state = PromptState::thinking;
    request_.tags = {};  // no forced tags
    request_.budgets.total = 32;
    Recorder undisturbed(*pair_);
    const auto reference = run_to_the_end(request_, undisturbed);
    ASSERT_GE(reference.completion().usage.handoffs, 2u);
    reference_text_ = reference.completion().text;
    reference_ = test::tokens_of(reference);
    answers_ = undisturbed.answers();
    FaultyEngine counting(*pair_, kNever, {ErrorKind::internal, Grown::nothing});
    static_cast<void>(run_to_the_end(request_, counting));
    decodes_ = counting.decodes();
  }

  static Generation run_to_the_end(const Request& request, Engine& engine) {
    auto generation = Generation::create(engine, request);
    if (!generation) throw std::runtime_error(generation.error().message);
    const auto done = generation->run(engine);
    EXPECT_TRUE(done) << done.error().message;
    return std::move(*generation);
  }

  /// The run stopped: the text so far is there, with the error.
  void expect_stopped(const Generation& generation, const Status& status, ErrorKind kind) const {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, kind) << status.error().message;
    const Completion partial = generation.completion();
    ASSERT_TRUE(partial.error);
    EXPECT_EQ(partial.error->kind, kind);
    EXPECT_EQ(partial.finish, kind == ErrorKind::cancelled ? FinishReason::cancelled : FinishReason::error);
    EXPECT_TRUE(reference_text_.starts_with(partial.text)) << partial.text;
    EXPECT_LT(partial.text.size(), reference_text_.size());
  }

  /// The run came to its end and wrote what the undisturbed one wrote, or parted from it at a near-tie.
  void expect_undisturbed(const Generation& generation, const std::vector<Answer>& answers) {
    EXPECT_FALSE(generation.completion().error);
    const auto comparison = test::compare(request_, answers, answers_);
    ++runs_;
    ties_ += comparison.tie ? 1 : 0;
    EXPECT_TRUE(comparison.tie || test::tokens_of(generation) == reference_);
  }

  void TearDown() override {
    std::printf("%zu disturbed runs, %zu near-ties\n", runs_, ties_);
    EXPECT_LE(ties_ * 100, runs_ * reference_.size());
  }

  std::unique_ptr<Pair> pair_;
  Request request_;
  std::string reference_text_;
  std::vector<testing::NaiveToken> reference_;
  std::vector<Answer> answers_;
  std::uint64_t decodes_ = 0;
  std::size_t runs_ = 0, ties_ = 0;
};

TEST_F(RelayPairFaults, AFailedDecodeAtAnyStepChangesNothingInTheText) {
  for (const Fault fault :
       {Fault{ErrorKind::no_cache_slot, Grown::nothing}, Fault{ErrorKind::cancelled, Grown::nothing},
        Fault{ErrorKind::cancelled, Grown::half}, Fault{ErrorKind::decode_failed, Grown::half},
        Fault{ErrorKind::decode_failed, Grown::all}}) {
    for (std::uint64_t at = 0; at < decodes_; ++at) {
      SCOPED_TRACE(fmt::format("fault {} of kind {}", at, static_cast<int>(fault.kind)));
      FaultyEngine faulty(*pair_, at, fault);
      Recorder engine(faulty);
      auto generation = Generation::create(engine, request_);
      ASSERT_TRUE(generation);
      expect_stopped(*generation, generation->run(engine), fault.kind);
      ASSERT_TRUE(generation->run(engine));
      expect_undisturbed(*generation, engine.answers());
      if (HasFailure()) return;
    }
  }
}

TEST_F(RelayPairFaults, AStoppedTextCanBeLeftForAnother) {
  for (std::uint64_t at = 0; at < decodes_; at += 3) {
    {
      FaultyEngine faulty(*pair_, at, {ErrorKind::decode_failed, Grown::half});
      auto generation = Generation::create(faulty, request_);
      ASSERT_TRUE(generation);
      ASSERT_FALSE(generation->run(faulty));
    }
    Recorder engine(*pair_);
    expect_undisturbed(run_to_the_end(request_, engine), engine.answers());
    if (HasFailure()) return;
  }
}

// Requested from a listener, in the thread of the run, after every token.
TEST_F(RelayPairFaults, AStopAfterAnyTokenChangesNothingInTheText) {
  for (std::size_t after = 1; after < reference_.size(); ++after) {
    Recorder engine(*pair_);
    auto generation = Generation::create(engine, request_);
    ASSERT_TRUE(generation);
    std::size_t tokens = 0;
    RunOptions options;
    options.events = [&](const Event& event) {
      if (const auto* token = std::get_if<TokenEvent>(&event); token == nullptr || !token->committed) return;
      if (++tokens == after) pair_->request_stop();
    };
    const Status stopped = generation->run(engine, options);
    pair_->clear_stop();
    if (!stopped) {
      expect_stopped(*generation, stopped, ErrorKind::cancelled);
    } else {
      EXPECT_EQ(tokens, reference_.size());  // several tokens can be committed at once, the last ones too
    }
    ASSERT_TRUE(generation->run(engine, options));
    expect_undisturbed(*generation, engine.answers());
    if (HasFailure()) return;
  }
}

// Requested by another thread, so that it hits prefills and decodes at any point.
TEST_F(RelayPairFaults, AStopAtAnyTimeChangesNothingInTheText) {
  int stops = 0;
  for (int round = 0; round < 40; ++round) {
    Recorder engine(*pair_);
    auto generation = Generation::create(engine, request_);
    ASSERT_TRUE(generation);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(200 + 700 * round));
      pair_->request_stop();
    });
    const Status stopped = generation->run(engine);
    stopper.join();
    pair_->clear_stop();
    if (!stopped) {
      ++stops;
      expect_stopped(*generation, stopped, ErrorKind::cancelled);
      ASSERT_TRUE(generation->run(engine));
    }
    expect_undisturbed(*generation, engine.answers());
    if (HasFailure()) return;
  }
  std::printf("%d of 40 runs stopped on their way\n", stops);
  EXPECT_GT(stops, 0);
}

// Every allocation of the loop, the sampler and the log. Not those inside of llama_decode, which does not survive them:
// its context cannot be used any more.
TEST_F(RelayPairFaults, AFailedAllocationAtAnyPlaceChangesNothingInTheText) {
  ElsewhereEngine engine(*pair_);
  std::size_t failed = 0;
  for (std::uint64_t at = 0;; ++at) {
    SCOPED_TRACE(fmt::format("allocation {}", at));
    for (const Model model : {Model::large, Model::small}) ASSERT_EQ(engine.truncate(model, 0), 0);
    auto generation = Generation::create(engine, request_);
    ASSERT_TRUE(generation);
    Status first = std::monostate{};
    {
      const testing::FailAllocation fail(at);
      first = generation->run(engine);
      if (!fail.happened()) break;  // every allocation of the run was tried
    }
    ++failed;
    expect_stopped(*generation, first, ErrorKind::out_of_memory);
    ASSERT_TRUE(generation->run(engine));
    EXPECT_EQ(test::tokens_of(*generation), reference_);
    if (HasFailure()) return;
  }
  std::printf("%zu allocations failed\n", failed);
  EXPECT_GT(failed, 10u);
}

// llama.cpp cannot go on with a context in which memory ran out half-way; the pair must say so instead of trying.
TEST(PairMemory, MemoryThatRunsOutInsideADecodeGivesErrorsEverAfter) {
  std::size_t broken = 0;
  for (std::uint64_t at = 0; at < 400; at += 19) {
    auto loaded = Pair::load(test::demo_options());
    ASSERT_TRUE(loaded);
    Pair& pair = **loaded;
    const std::vector<TokenId> tokens{1, 2, 3, 4, 5, 6, 7, 8};
    bool happened = false;
    Result<LogitRows> first;
    {
      const testing::FailAllocation failing(at);
      first = pair.decode(Model::large, tokens, 1);
      happened = failing.happened();
    }
    if (!happened) break;
    if (first) continue;  // llama.cpp coped, or the failure came after its decode
    EXPECT_EQ(first.error().kind, ErrorKind::out_of_memory) << first.error().message;
    const auto again = pair.decode(Model::large, tokens, 1);
    if (again) continue;
    EXPECT_EQ(again.error().kind, ErrorKind::out_of_memory) << again.error().message;
    EXPECT_NE(again.error().hint.find("load the pair again"), std::string::npos);
    EXPECT_TRUE(pair.decode(Model::small, tokens, 1));
    ++broken;
  }
  EXPECT_GT(broken, 0u);
}

}  // namespace
}  // namespace relaygen
