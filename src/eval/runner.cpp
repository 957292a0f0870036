#include "eval/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "io/hashing.h"

namespace relaygen::eval {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Time left, from the mean time of each policy's outputs in this run.
class Forecast {
 public:
  explicit Forecast(const std::vector<OutputKey>& missing) {
    for (const auto& key : missing) ++rows_[key.policy].left;
  }
  void finished(const std::string& policy, double seconds) {
    auto& row = rows_[policy];
    row.seconds += seconds;
    ++row.written;
    --row.left;
  }
  void skipped(const std::string& policy) { --rows_[policy].left; }
  [[nodiscard]] double seconds_left() const {
    double left = 0;
    for (const auto& [name, row] : rows_) {
      if (row.left == 0) continue;
      if (row.written == 0) return -1;
      left += static_cast<double>(row.left) * row.seconds / static_cast<double>(row.written);
    }
    return left;
  }

 private:
  struct Row {
    std::size_t left = 0, written = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> rows_;
};

struct Row {
  Writer* writer = nullptr;
  std::uint32_t failures = 0;  // in a row
  bool given_up = false;
};

}  // namespace

std::vector<OutputKey> schedule(const std::vector<std::string>& policies, const std::vector<StoredProblem>& problems,
                                std::uint32_t samples) {
  std::vector<OutputKey> order;
  std::size_t first = 0;
  for (const auto& problem : problems) {
    for (std::uint32_t sample = 0; sample < samples; ++sample, ++first) {
      for (std::size_t i = 0; i < policies.size(); ++i)
        order.push_back({policies[(first + i) % policies.size()], problem.problem.id, sample});
    }
  }
  return order;
}

Result<bool> write_missing(Store& store, const std::vector<StoredProblem>& problems,
                           std::vector<Competitor>& competitors, const RunnerOptions& options) {
  const auto done = store.done();
  if (!done) return tl::unexpected(done.error());
  std::map<std::string, Row> rows;
  std::vector<std::string> names;
  for (const auto& one : competitors) {
    rows[one.name].writer = one.writer.get();
    names.push_back(one.name);
  }
  std::map<std::string, const StoredProblem*> by_id;
  for (const auto& problem : problems) by_id[problem.problem.id] = &problem;

  auto missing = schedule(names, problems, options.samples);
  const std::size_t all = missing.size();
  std::erase_if(missing, [&](const OutputKey& key) { return done->contains(key); });
  const auto failed = store.failed();
  if (!failed) return tl::unexpected(failed.error());
  std::stable_partition(missing.begin(), missing.end(), [&](const OutputKey& key) { return !failed->contains(key); });
  Forecast forecast(missing);
  std::size_t stored = all - missing.size();
  for (const auto& key : missing) {
    Row& row = rows[key.policy];
    if (row.given_up) {
      forecast.skipped(key.policy);
      continue;
    }
    if (options.progress) options.progress({stored, all, key.policy, forecast.seconds_left()});
    if (options.cancel->load()) return false;
    const auto& problem = *by_id[key.problem];
    const std::string started = utc_now();
    const double begin = now();
    const auto written =
        row.writer->write(problem, output_seed(options.seed, key.problem, key.sample), *options.cancel);
    if (written.error && (written.error->kind == ErrorKind::cancelled || options.cancel->load())) return false;
    Status kept;
    if (written.output) {
      const auto& output = *written.output;
      const auto graded = grade(output.answer, output.finished(), problem.problem.expected, problem.problem.kind,
                                problem.problem.options.size());
      kept = store.put(key, output, name(graded.verdict), started, written.attempts);
      row.failures = 0;
      ++stored;
    } else {
      const auto& message = written.error->message;
      kept = store.put_error(key, message, started, written.attempts);
      if (options.say) options.say(fmt::format("{}, problem {}: {}", key.policy, key.problem, message));
      row.failures = written.server_failed ? row.failures + 1 : 0;
      if (row.failures >= options.failures_in_a_row) {
        row.given_up = true;
        if (options.say) {
          options.say(fmt::format("{} failed {} times in a row and is left out for the rest of this run", key.policy,
                                  row.failures));
        }
      }
    }
    if (!kept) return tl::unexpected(kept.error());
    forecast.finished(key.policy, now() - begin);
  }
  if (options.progress) options.progress({stored, all, "", 0});
  return true;
}

}  // namespace relaygen::eval
