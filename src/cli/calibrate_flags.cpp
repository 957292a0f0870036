#include "cli/calibrate_flags.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/bundled.h"
#include "cli/eval_flags.h"
#include "io/files.h"

namespace relaygen::cli {
namespace {

template <typename Value>
CLI::Option* option(CLI::App& app, const char* group, const char* name, Value& value, const char* what,
                    const char* type) {
  return app.add_option(name, value, what)->group(group)->type_name(type);
}

// A list of strings, an object with "candidates", a profile (its cues), or lines of text.
Result<std::vector<std::string>> parse_candidates(const std::string& content, const std::string& file) {
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", file, what),
                "give lines of text, a JSON list of strings, or a profile");
  };
  if (auto ok = check_utf8(content, file); !ok) return tl::unexpected(ok.error());
  std::vector<std::string> candidates;
  const auto start = content.find_first_not_of(" \t\r\n");
  if (start == std::string::npos) return wrong("it is empty");
  if (content[start] != '[' && content[start] != '{') {
    for (std::size_t begin = 0; begin < content.size();) {
      const auto end = std::min(content.find('\n', begin), content.size());
      std::string line = content.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      if (line.find_first_not_of(' ') != std::string::npos) candidates.push_back(std::move(line));
      begin = end + 1;
    }
    return candidates;
  }
  const auto json = nlohmann::json::parse(content, nullptr, false);
  if (json.is_discarded()) return wrong("it is no valid JSON");
  const auto* list = &json;
  if (json.is_object()) {
    const char* key = json.contains("candidates") ? "candidates" : "cues";
    if (!json.contains(key)) return wrong("it has no \"candidates\"");
    list = &json[key];
  }
  if (!list->is_array()) return wrong("the candidates are no list");
  for (const auto& one : *list) {
    const auto* text = one.is_object() && one.contains("text") ? &one["text"] : &one;
    if (!text->is_string()) return wrong(fmt::format("candidate {} is no string", candidates.size() + 1));
    candidates.push_back(text->get<std::string>());
  }
  return candidates;
}

}  // namespace

std::string CalibrateFlags::database() const {
  if (!db.empty() || output.empty()) return db;
  return std::filesystem::path(output).replace_extension(".db").string();
}

void add_calibrate_flags(CLI::App& app, CalibrateFlags& flags) {
  auto& analysis = flags.analysis;
  analysis.min_large_tokens = 5;
  option(app, "Input", "--problems", flags.problems,
         "what the large model is asked: one problem a row (JSON lines, JSON, CSV), with or without the right answer",
         "FILE");
  option(app, "Input", "--traces", flags.traces,
         "texts that this large model wrote already: rows with a question and a text, or with messages", "FILE");
  option(app, "Input", "--first", flags.first, "only the first N problems (0: all)", "N")
      ->check(CLI::Range(0, 100'000'000))
      ->capture_default_str();
  add_column_flags(app, flags.columns, flags.template_file);
  option(app, "Stages", "-o,--output", flags.output, "the profile to write", "FILE");
  option(app, "Stages", "--db", flags.db,
         "where everything is kept: the same command goes on where it was cut short (default: the profile's name with "
         ".db)",
         "FILE");
  option(app, "Stages", "--stage", flags.stage,
         "do one stage alone: traces, margins, proof and answers need models, cues needs what those stored", "NAME")
      ->check(CLI::IsMember({"all", "traces", "margins", "proof", "answers", "cues"}))
      ->capture_default_str();
  option(app, "Stages", "-k,--samples", flags.samples,
         "traces of each problem, at most: sampling ends when the intervals suffice", "K")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  option(app, "Stages", "--proof", flags.proofs,
         "places of each candidate at which the small model writes and the large one finishes, at most (0: no proof)",
         "N")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  option(app, "Choice", "--candidates", flags.candidate_files,
         "strings to try instead of the published ones: lines, a JSON list, or a profile (repeatable)", "FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_flag("--no-discovery", flags.no_discovery, "do not try what else sentences often begin with")
      ->group("Choice");
  option(app, "Choice", "--rule", flags.rule,
         "effect: what the large model thinks of the small one's words, and the proof; published: the paper's score",
         "NAME")
      ->check(CLI::IsMember({"effect", "published"}))
      ->capture_default_str();
  option(app, "Choice", "--rules", flags.rules, "how cues and ends of sentences are found", "NAME")
      ->check(CLI::IsMember({"exact", "published"}))
      ->capture_default_str();
  option(app, "Choice", "--min-count", analysis.min_count, "fewest occurrences", "N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  option(app, "Choice", "--min-problems", analysis.min_problems, "fewest problems with one", "N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  option(
      app, "Choice", "--false-rate", analysis.false_rate,
      "share of wrong ones among the selected that may be expected (Benjamini-Hochberg; 1: only the estimate counts)",
      "X")
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  option(app, "Choice", "--min-safe", analysis.min_safe,
         "effect: share of sentences of which the large model has to refuse nothing", "X")
      ->check(CLI::Range(0.01, 0.999))
      ->capture_default_str();
  option(app, "Choice", "--max-loss", analysis.max_loss, "effect: share of answers that a handoff may lose", "X")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  option(app, "Choice", "--target-share", flags.target_share,
         "stop adding cues where they hand over this share of the thinking (0: take all that qualify)", "X")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  option(app, "Choice", "--min-large-tokens", analysis.min_large_tokens,
         "a cue counts once the large model wrote this many tokens", "N")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  option(app, "Choice", "--max-small-tokens", analysis.max_small_tokens, "longest segment of the small model", "N")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  option(app, "Choice", "--resamples", analysis.resamples, "of the bootstrap", "N")
      ->check(CLI::Range(100, 100'000))
      ->capture_default_str();
  add_output_flags(app, flags.shown);
  app.add_flag("-q,--quiet", flags.quiet, "no progress and no remarks");
  add_model_flags(app, flags.models);
  add_sampling_flags(app, flags.generation);
  app.get_option("--seed")->description("everything that is drawn follows from this one (-1: 0)");
  app.remove_option(app.get_option("--no-thinking"));
  app.remove_option(app.get_option("--stop"));
}

Status check_calibrate_flags(const CalibrateFlags& flags) {
  if (auto ok = check_output_flags(flags.shown); !ok) return ok;
  if (flags.database().empty()) {
    return fail(ErrorKind::usage, "there is no place to keep what is measured",
                "name the profile with -o FILE, or a database with --db FILE");
  }
  std::error_code ignored;
  if (!flags.output.empty() && std::filesystem::weakly_canonical(flags.output, ignored) ==
                                   std::filesystem::weakly_canonical(flags.database(), ignored))
    return fail(ErrorKind::usage, "the profile and the database are one file", "give --db another name");
  if (flags.needs_models() && flags.problems.empty() && flags.traces.empty() && !flags.models.bundled()) {
    return fail(ErrorKind::usage, "there is nothing to calibrate on",
                "give --problems FILE for the large model to solve, or --traces FILE with texts that it wrote");
  }
  if (flags.small_only() && flags.traces.empty() && flags.needs_models()) {
    return fail(ErrorKind::usage, "without a large model nobody can write traces", "give -m FILE, or --traces FILE");
  }
  if (flags.small_only() && flags.needs_models() && flags.rule == "effect") {
    return fail(ErrorKind::usage, "the effect rule asks a large model, and there is none",
                "give -m FILE, or --rule published");
  }
  if (flags.stage == "proof" && flags.proofs == 0) {
    return fail(ErrorKind::usage, "--proof 0 leaves the stage proof nothing to do", "give a larger --proof");
  }
  if (flags.small_only() && (flags.stage == "proof" || flags.stage == "answers")) {
    return fail(ErrorKind::usage, fmt::format("the stage {} needs a large model, and there is none", flags.stage),
                "give -m FILE");
  }
  return check_values(Request{.sampling = flags.generation.sampling, .budgets = flags.generation.budgets});
}

Result<calibrate::AnalysisOptions> analysis_options(const CalibrateFlags& flags) {
  calibrate::AnalysisOptions options = flags.analysis;
  options.discover = !flags.no_discovery;
  options.rule = flags.rule == "published" ? calibrate::Rule::published : calibrate::Rule::effect;
  options.rules = flags.rules == "published" ? Rules::published : Rules::exact;
  if (flags.target_share > 0) options.target_share = flags.target_share;
  options.seed = flags.generation.seed < 0 ? 0 : static_cast<std::uint64_t>(flags.generation.seed);
  std::vector<std::string> files = flags.candidate_files;
  if (files.empty()) {
    auto folder = bundled_folder();
    if (!folder) {
      return fail(ErrorKind::bad_input, "the published candidates are not there: " + folder.error().message,
                  "give --candidates FILE, or set RELAYGEN_DATA to the folder that holds models/demo and profiles");
    }
    files.push_back(*folder / "profiles/candidates/published.json");
  }
  for (const auto& file : files) {
    const auto content = read_file(file);
    if (!content) return tl::unexpected(content.error());
    auto some = parse_candidates(*content, file);
    if (!some) return tl::unexpected(some.error());
    options.candidates.insert(options.candidates.end(), some->begin(), some->end());
  }
  std::vector<Cue> cues;
  for (const auto& text : options.candidates) cues.push_back({text, true});
  if (auto set = CueSet::build(cues, options.rules); !set) return tl::unexpected(set.error());
  return options;
}

}  // namespace relaygen::cli
