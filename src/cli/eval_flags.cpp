#include "cli/eval_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace relaygen::cli {
namespace {

constexpr const char* kUsualPolicies = "large-only,small-only,relay,random";

std::string preset_names() {
  std::vector<std::string_view> names;
  for (const auto& preset : eval::presets()) names.push_back(preset.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_dataset_flags(CLI::App& app, EvalFlags& flags) {
  const auto option = [&](const char* name, auto& value, const std::string& what, const char* type) {
    return app.add_option(name, value, what)->group("Dataset")->type_name(type);
  };
  option("--dataset", flags.dataset,
         "a file with one problem a row (JSON lines, JSON, CSV), or the name of a published one: " + preset_names(),
         "FILE|NAME");
  option("--file", flags.file, "the file of a published dataset (for demo: not needed)", "FILE");
  option("--first", flags.first, "only the first N problems (0: all)", "N")->capture_default_str();
  option("--problems", flags.problems, "only the problems with these ids, separated by commas", "IDS");
  add_column_flags(app, flags.columns, flags.template_file);
}

void add_endpoint_flags(CLI::App& app, EvalFlags& flags) {
  const auto option = [&](const char* name, auto& value, const char* what, const char* type) {
    return app.add_option(name, value, what)->group("Endpoints")->type_name(type);
  };
  const auto repeatable = [](CLI::Option* one) {
    one->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  };
  repeatable(option("--endpoint", flags.endpoints,
                    "one more row: an OpenAI-compatible server (repeatable). Its key is read from the environment "
                    "variable RELAYGEN_API_KEY or OPENAI_API_KEY",
                    "NAME=URL"));
  repeatable(option("--endpoint-model", flags.endpoint_models,
                    "the model to ask for; with several endpoints NAME=MODEL (repeatable)", "MODEL"));
  option("--endpoint-timeout", flags.endpoint_timeout,
         "give up on an answer after so many seconds of silence. A server is silent while it writes, so this has to "
         "be longer than its longest answer takes",
         "S")
      ->capture_default_str();
  option("--endpoint-total-timeout", flags.endpoint_total_timeout, "... after so many seconds in all (0: never)", "S")
      ->capture_default_str();
  option("--endpoint-connect-timeout", flags.endpoint_connect_timeout, "... without a connection", "S")
      ->capture_default_str();
  option("--endpoint-attempts", flags.endpoint_attempts, "attempts for one output in one run", "N")
      ->capture_default_str();
  option("--endpoint-wait", flags.endpoint_wait,
         "seconds before the second attempt, doubled each time; what the server asks for (Retry-After) comes first",
         "S")
      ->capture_default_str();
}

void replace_generation_flags(CLI::App& app, EvalFlags& flags) {
  app.remove_option(app.get_option("--policy"));
  app.remove_option(app.get_option("--random-rate"));
  for (const char* name : {"--verify", "--relay", "--guard", "--no-draft", "--no-adapt"})
    app.remove_option(app.get_option(name));     // here the names of the policies say it
  app.remove_option(app.get_option("--judge"));  // it would cost the relay time and change nothing in the table
  app.add_option(
         "--policies", flags.policies,
         fmt::format("who writes what, separated by commas: large, small, relay, verified, random, answer-only, "
                     "all-candidates, rejected-only; with +draft, +typical, +strict, +guard, +always, "
                     "+margin behind (default: {})",
                     kUsualPolicies))
      ->group("Relay")
      ->type_name("NAMES");
  app.add_option("--random-rate", flags.random_rate,
                 "chance of a handoff at a sentence start, for random; match: look for the one that gives the small "
                 "model the same share as relay")
      ->group("Relay")
      ->type_name("P|match")
      ->capture_default_str();
  app.get_option("--seed")->description(
      "each problem and sample has a seed of its own, made from this one (-1: that of --db, or else 0)");
}

}  // namespace

void add_column_flags(CLI::App& app, eval::ColumnNames& columns, std::string& template_file) {
  const auto option = [&](const char* name, auto& value, const char* what, const char* type) {
    return app.add_option(name, value, what)->group("Dataset")->type_name(type);
  };
  option("--question-column", columns.question, "column of the questions", "NAME");
  option("--answer-column", columns.answer, "column of the expected answers", "NAME");
  option("--id-column", columns.id, "column of the ids (default: id, unique_id, ..., or the rows' numbers)", "NAME");
  option("--options-columns", columns.options,
         "columns of the options, in order, separated by commas; or the one that holds a list", "NAMES")
      ->delimiter(',');
  option("--wrong-columns", columns.wrong,
         "columns of wrong options, separated by commas; they are shuffled together with the answer", "NAMES")
      ->delimiter(',');
  option("--template", template_file, "what is asked, with {question} and {options}", "FILE");
  app.add_option_function<std::vector<std::string>>(
         "--only",
         [&columns](const std::vector<std::string>& given) {
           for (const std::string& one : given) {
             const auto equals = one.find('=');
             if (equals == std::string::npos || equals == 0)
               throw CLI::ValidationError("--only " + one, "give it as COLUMN=VALUE,VALUE,...");
             columns.only.push_back({one.substr(0, equals), split_list(std::string_view(one).substr(equals + 1))});
           }
         },
         "only rows whose column has one of these values (repeatable)")
      ->group("Dataset")
      ->type_name("COLUMN=VALUES")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_eval_flags(CLI::App& app, EvalFlags& flags) {
  add_dataset_flags(app, flags);
  app.add_option("-k,--samples", flags.samples, "outputs for each problem and policy")
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--db", flags.db,
                 "keep every output in this SQLite file. The same command goes on where it was cut short; without it "
                 "nothing is kept")
      ->type_name("FILE");
  app.add_option("--baseline", flags.baseline, "the policy to compare with (default: large-only, or the first)")
      ->type_name("NAME");
  app.add_option(
         "--margin", flags.margin,
         "how much accuracy a policy may lose, as a fraction; fix it beforehand (default: what --db was begun with, "
         "or 0.02)")
      ->type_name("X");
  app.add_flag("--only-report", flags.only_report, "show what --db holds, and write nothing");
  add_output_flags(app, flags.output);
  app.add_flag("-q,--quiet", flags.quiet, "no progress and no remarks");
  add_endpoint_flags(app, flags);
  add_model_flags(app, flags.models);
  add_generation_flags(app, flags.generation);
  replace_generation_flags(app, flags);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto begin = part.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    part = part.substr(begin, part.find_last_not_of(' ') - begin + 1);
    parts.emplace_back(part);
  }
  return parts;
}

Result<std::vector<std::string>> policies_of(const EvalFlags& flags) {
  const bool only_endpoints = flags.policies.empty() && !flags.endpoints.empty() && flags.models.bundled();
  std::vector<std::string> names;
  for (const auto& one : split_list(flags.policies.empty() && !only_endpoints ? kUsualPolicies : flags.policies)) {
    const std::string name = full_policy_name(one);
    if (auto ok = check_policy_name(name); !ok) {
      Error error = ok.error();
      error.message = "--policies: " + error.message;
      return tl::unexpected(std::move(error));
    }
    if (std::find(names.begin(), names.end(), name) != names.end())
      return fail(ErrorKind::usage, fmt::format("--policies names '{}' twice", name), "name it once");
    names.push_back(name);
  }
  return names;
}

Status check_eval_flags(const EvalFlags& flags) {
  if (auto ok = check_output_flags(flags.output); !ok) return ok;
  if (flags.margin && !(*flags.margin > 0 && *flags.margin <= 1)) {
    return fail(ErrorKind::usage, fmt::format("--margin is {:g}", *flags.margin),
                "give a fraction above 0 and at most 1, for example 0.02 for two points");
  }
  if (flags.samples < 1) return fail(ErrorKind::usage, "--samples has to be at least 1", "give a number of outputs");
  if (flags.first < 0) return fail(ErrorKind::usage, "--first has to be at least 0", "give a number of problems");
  if (flags.only_report) {
    if (flags.db.empty()) return fail(ErrorKind::usage, "--only-report has nothing to show", "name a file with --db");
    return std::monostate{};
  }
  if (flags.dataset.empty() && flags.file.empty()) {
    return fail(ErrorKind::usage, "there is no dataset",
                "give --dataset FILE, or --dataset demo for the bundled pair's problems");
  }
  if (flags.endpoint_attempts < 1)
    return fail(ErrorKind::usage, "--endpoint-attempts has to be at least 1", "give a number of attempts");
  for (const double seconds : {flags.endpoint_timeout, flags.endpoint_connect_timeout}) {
    if (!(seconds > 0 && seconds < 1e6))
      return fail(ErrorKind::usage, fmt::format("a timeout of {:g} s makes no sense", seconds), "give seconds above 0");
  }
  if (!(flags.endpoint_wait >= 0 && flags.endpoint_wait < 1e6 && flags.endpoint_total_timeout >= 0 &&
        flags.endpoint_total_timeout < 1e6))
    return fail(ErrorKind::usage, "a time of an endpoint is negative or too large", "give seconds of at least 0");
  return std::monostate{};
}

}  // namespace relaygen::cli
