// From flags to what an evaluation runs on: problems, rows of the table, the settings that define them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/eval_flags.h"
#include "cli/session.h"
#include "eval/dataset.h"
#include "eval/endpoint.h"
#include "eval/prompt_template.h"
#include "eval/runner.h"

namespace relaygen::cli {

/// The words around a question: of a file, or those that come with RelayGen. Errors: bad_input, usage.
[[nodiscard]] Result<eval::PromptTemplate> read_template(const std::string& file, const eval::Preset* preset,
                                                         eval::AnswerKind kind);

/// The problems of this run with their prompts.
struct ChosenProblems {
  eval::Dataset dataset{};  ///< all problems
  std::string template_text{};
  std::vector<eval::StoredProblem> chosen{};
  std::vector<std::size_t> positions{};  ///< of the chosen ones in the dataset
};

/// Reads the dataset and makes the prompts. Errors: bad_input, usage (an id or a preset that is not there).
[[nodiscard]] Result<ChosenProblems> choose_problems(const EvalFlags& flags);

/// One row that the pair writes.
struct PolicyRow {
  std::string name{};
  PreparedPolicy prepared{};
};

/// One row of an endpoint.
struct EndpointRow {
  std::string name{};
  eval::EndpointOptions options{};
};

struct Rows {
  Profile profile{};
  std::vector<PolicyRow> policies{};
  std::vector<EndpointRow> endpoints{};
  [[nodiscard]] std::vector<std::string> names() const;
};

/// Errors: usage (names, URLs, sampling values), bad_profile.
[[nodiscard]] Result<Rows> choose_rows(const EvalFlags& flags);

/// What defines the outputs, in the form that a database records. Nothing here tells how many problems or samples are
/// asked for: an evaluation may grow.
[[nodiscard]] OrderedJson dataset_settings(const ChosenProblems& problems);
[[nodiscard]] OrderedJson generation_settings(const EvalFlags& flags, const ChosenProblems& problems,
                                              std::uint64_t seed);
/// Errors: bad_model.
[[nodiscard]] Result<OrderedJson> pair_settings(const EvalFlags& flags, const Profile& profile);
[[nodiscard]] eval::StoredPolicy policy_settings(const PolicyRow& row, const EvalFlags& flags);
[[nodiscard]] eval::StoredPolicy endpoint_settings(const EndpointRow& row);

/// `costs` as RunOptions::costs; they have to outlive the writer, and so have pair and flags.
[[nodiscard]] std::unique_ptr<eval::Writer> make_writer(Pair& pair, const PolicyRow& row, const EvalFlags& flags,
                                                        const CostModel* costs);
[[nodiscard]] Result<std::unique_ptr<eval::Writer>> make_writer(const EndpointRow& row, const EvalFlags& flags);

}  // namespace relaygen::cli
