// The flags of `relaygen calibrate`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/analysis.h"
#include "cli/options.h"
#include "cli/provenance.h"
#include "eval/dataset.h"

namespace relaygen::cli {

struct CalibrateFlags {
  ModelFlags models;
  GenerationFlags generation;  ///< sampling, budgets, prompt
  std::string problems, traces, template_file, output, db, stage = "all";
  eval::ColumnNames columns;
  std::int64_t first = 0;
  std::uint32_t samples = 4, proofs = 80;
  std::vector<std::string> candidate_files;
  bool no_discovery = false, quiet = false;
  std::string rule = "effect", rules = "exact";
  double target_share = 0;
  calibrate::AnalysisOptions analysis;
  OutputFlags shown;

  /// The cues stage needs nothing but the database.
  [[nodiscard]] bool needs_models() const { return stage != "cues"; }
  /// Whether to run a stage.
  [[nodiscard]] bool runs(std::string_view one) const { return stage == "all" || stage == one; }
  /// Only the small model was given: nobody can be asked but it.
  [[nodiscard]] bool small_only() const { return models.large.empty() && !models.small.empty(); }
  [[nodiscard]] std::string database() const;
};

void add_calibrate_flags(CLI::App& app, CalibrateFlags& flags);

/// Errors: usage.
[[nodiscard]] Status check_calibrate_flags(const CalibrateFlags& flags);

/// The options of the analysis, with the candidates of --candidates, or those that come with RelayGen. The tags are still
/// to be filled in. Errors: bad_input, bad_profile.
[[nodiscard]] Result<calibrate::AnalysisOptions> analysis_options(const CalibrateFlags& flags);

}  // namespace relaygen::cli
