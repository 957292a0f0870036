// What an evaluation shows: stored outputs in, a table's worth of numbers out. Grades again from the stored answers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/statistics.h"
#include "eval/store.h"

namespace relaygen::eval {

/// Everything about one policy, over all of its outputs if not said otherwise.
struct PolicySummary {
  std::string name{};
  std::optional<std::string> endpoint{};  ///< URL
  std::uint64_t outputs = 0, errors = 0, missing = 0;
  std::uint64_t complete = 0;  ///< questions that have all samples
  std::uint64_t compared = 0;  ///< questions that are complete here and in the baseline
  std::optional<std::string> first_error{};

  std::optional<Estimate> accuracy{};  ///< over complete questions; none where nothing is graded
  // Over the compared questions; none for the baseline itself.
  std::optional<Estimate> difference{};
  std::optional<McNemar> mcnemar{};
  std::optional<Verdict95> verdict{};
  std::optional<Estimate> speed_up{};

  std::array<std::uint64_t, 5> verdicts{};  ///< outputs by Verdict
  double seconds = 0;
  std::uint64_t truncated = 0;  ///< outputs that a budget or the window cut
  double tokens_mean = 0, tokens_median = 0, tokens_p90 = 0;
  std::optional<double> thinking_mean{}, answer_mean{};
  std::optional<double> utilisation{}, small_share{}, handoffs{};
  std::optional<TimeSpent::Parts> time{};  ///< sums
  std::vector<std::uint64_t> lengths{};    ///< tokens, in the order of the dataset
};

struct Disagreement {
  StoredProblem problem{};
  struct Side {
    std::string policy{};
    std::string answer{};
    Verdict verdict = Verdict::no_answer;
    StoredOutput stored{};
  };
  std::vector<Side> sides{};
};

struct Summary {
  OrderedJson dataset{}, settings{}, pair{};  ///< as recorded; null where nothing is
  std::vector<StoredRun> runs{};
  std::uint64_t problems = 0;
  std::uint32_t samples = 1;
  AnswerKind kind = AnswerKind::math;
  std::string baseline{};  ///< empty: no comparisons
  double margin = 0.02;
  std::vector<PolicySummary> policies{};
  std::vector<Disagreement> disagreements{};
  std::vector<std::string> notes{};            ///< sentences that a reader must see
  [[nodiscard]] std::uint64_t absent() const;  ///< outputs that are missing or errors
};

struct SummaryOptions {
  std::string baseline{};  ///< empty: large-only where it is there, else the first
  double margin = 0.02;
  std::uint32_t samples = 1;
  std::vector<std::string> policies{};  ///< empty: all
  std::set<std::string> problems{};     ///< ids; empty: all
  std::size_t disagreements = 50;       ///< at most so many
};

/// Errors: usage (a baseline or policy that is not there), those of the store.
[[nodiscard]] Result<Summary> summarise(const Store& store, const SummaryOptions& options);

/// What made the report.
struct ReportOrigin {
  std::string program{}, command{};
};

/// The object that `eval --json` prints and that reports are made of (docs/json.md).
[[nodiscard]] OrderedJson summary_to_json(const Summary& summary, const ReportOrigin& origin);

}  // namespace relaygen::eval
