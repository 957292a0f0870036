#include "eval/pair_writer.h"

#include <new>

namespace relaygen::eval {
namespace {

class PairWriter : public Writer {
 public:
  PairWriter(Engine& pair, RequestMaker make_request, const CostModel* costs)
      : pair_(pair), make_request_(std::move(make_request)), costs_(costs) {}

  Written write(const StoredProblem& problem, std::uint64_t seed, const std::atomic<bool>& cancel) override try {
    auto request = make_request_(problem.prompt);
    if (!request) return {.error = request.error()};
    request->seed = seed;
    auto generation = Generation::create(pair_, std::move(*request));
    if (!generation) return {.error = generation.error()};
    RunOptions options;
    options.cancel = &cancel;
    options.costs = costs_;
    if (auto ok = generation->run(pair_, options); !ok) return {.error = ok.error()};
    return {.output = output_of(generation->completion())};
  } catch (const std::bad_alloc&) {
    return {.error = Error{ErrorKind::out_of_memory, "an allocation failed", "free memory"}};
  }

 private:
  Engine& pair_;
  RequestMaker make_request_;
  const CostModel* costs_;
};

}  // namespace

std::unique_ptr<Writer> make_pair_writer(Engine& pair, RequestMaker make_request, const CostModel* costs) {
  return std::make_unique<PairWriter>(pair, std::move(make_request), costs);
}

}  // namespace relaygen::eval
