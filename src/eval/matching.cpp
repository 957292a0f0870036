#include "eval/matching.h"

#include <cmath>

#include "io/hashing.h"

namespace relaygen::eval {
namespace {

constexpr int kSteps = 7;

Result<double> small_share(Writer& writer, std::span<const StoredProblem> problems, std::uint64_t seed,
                           const std::atomic<bool>& cancel) {
  std::uint64_t small = 0;
  std::uint64_t all = 0;
  for (const auto& problem : problems) {
    const auto written = writer.write(problem, output_seed(seed, problem.problem.id, 0), cancel);
    if (written.error && written.error->kind == ErrorKind::cancelled) return tl::unexpected(*written.error);
    if (written.error) continue;  // the evaluation itself will record it
    all += written.output->tokens.generated;
    if (written.output->tokens.authors) small += written.output->tokens.authors->small;
  }
  if (all == 0) {
    return fail(ErrorKind::bad_input, "no problem could be written to look for the random rate with",
                "give the rate, for example --random-rate 0.3");
  }
  return static_cast<double>(small) / static_cast<double>(all);
}

}  // namespace

Result<MatchedRate> match_random_rate(Writer& relay, const std::function<std::unique_ptr<Writer>(double)>& make_random,
                                      std::span<const StoredProblem> problems, std::uint64_t seed,
                                      const std::atomic<bool>& cancel, const std::function<void(double)>& tried) {
  const auto wanted = small_share(relay, problems, seed, cancel);
  if (!wanted) return tl::unexpected(wanted.error());
  MatchedRate best{.wanted_share = *wanted, .share = -1};
  double low = 0;
  double high = 1;
  for (int step = 1; step <= kSteps; ++step) {
    tried(static_cast<double>(step) / (kSteps + 1));
    const double rate = std::round((low + high) / 2 * 1e4) / 1e4;
    const auto share = small_share(*make_random(rate), problems, seed, cancel);
    if (!share) return tl::unexpected(share.error());
    if (best.share < 0 || std::abs(*share - *wanted) < std::abs(best.share - *wanted)) {
      best.rate = rate;
      best.share = *share;
    }
    (*share > *wanted ? high : low) = rate;
  }
  return best;
}

}  // namespace relaygen::eval
