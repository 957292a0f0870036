// The flags of `relaygen eval`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/provenance.h"
#include "eval/dataset.h"

namespace relaygen::cli {

inline constexpr double kUsualMargin = 0.02;  ///< accuracy that a policy may lose, as a fraction

struct EvalFlags {
  ModelFlags models;
  GenerationFlags generation;
  std::string dataset, file, problems, template_file;
  eval::ColumnNames columns;
  std::int64_t first = 0;
  std::uint32_t samples = 1;
  bool samples_given = false;
  std::string policies, baseline;  ///< policies empty: the usual ones, or none where there are endpoints
  std::string random_rate = "0.3";
  std::optional<double> margin;  ///< none: as recorded in --db, or kUsualMargin
  std::vector<std::string> endpoints, endpoint_models;
  double endpoint_timeout = 600, endpoint_total_timeout = 0, endpoint_connect_timeout = 10, endpoint_wait = 1;
  std::uint32_t endpoint_attempts = 4;
  std::string db;
  bool only_report = false, quiet = false;
  OutputFlags output;
};

void add_eval_flags(CLI::App& app, EvalFlags& flags);

/// What the columns of a dataset are, which rows count, and the words around a question.
void add_column_flags(CLI::App& app, eval::ColumnNames& columns, std::string& template_file);

/// The policies asked for, by their full names ("large" is large-only, "small" is small-only).
/// Errors: usage (an unknown one, one that comes twice).
[[nodiscard]] Result<std::vector<std::string>> policies_of(const EvalFlags& flags);

/// "a, b,c" in parts.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

/// What does not fit together. Errors: usage.
[[nodiscard]] Status check_eval_flags(const EvalFlags& flags);

}  // namespace relaygen::cli
