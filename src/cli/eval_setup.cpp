#include "cli/eval_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/bundled.h"
#include "eval/pair_writer.h"
#include "eval/prompt_template.h"
#include "io/files.h"
#include "io/hashing.h"

namespace relaygen::cli {
namespace {

struct DatasetSource {
  std::string file;
  const eval::Preset* preset = nullptr;
};

Result<DatasetSource> find_dataset(const EvalFlags& flags) {
  const auto* preset = eval::find_preset(flags.dataset);
  if (preset == nullptr) {
    if (!flags.file.empty() && !flags.dataset.empty()) {
      return fail(ErrorKind::usage, fmt::format("there is no dataset named '{}'", flags.dataset),
                  "give the file alone with --dataset FILE, or choose a name from relaygen eval --help");
    }
    std::error_code ignored;
    if (flags.file.empty() && !std::filesystem::exists(flags.dataset, ignored)) {
      return fail(ErrorKind::bad_input, fmt::format("there is no file and no known dataset '{}'", flags.dataset),
                  "give the path of a file, or choose a name from relaygen eval --help");
    }
    return DatasetSource{flags.file.empty() ? flags.dataset : flags.file, nullptr};
  }
  if (!flags.file.empty()) return DatasetSource{flags.file, preset};
  if (preset->name != "demo") {
    return fail(ErrorKind::usage, fmt::format("the dataset {} does not come with RelayGen", preset->name),
                fmt::format("get its file and give --dataset {} --file FILE: {}", preset->name, preset->published));
  }
  auto folder = bundled_folder();
  if (!folder) return tl::unexpected(folder.error());
  return DatasetSource{*folder / "models/demo/problems.heldout.jsonl", preset};
}

Result<std::vector<std::size_t>> choose_positions(const EvalFlags& flags, const eval::Dataset& dataset) {
  const auto wanted = split_list(flags.problems);
  std::set<std::string> missing(wanted.begin(), wanted.end());
  std::vector<std::size_t> positions;
  const auto most = flags.first > 0 ? static_cast<std::size_t>(flags.first) : dataset.problems.size();
  for (std::size_t i = 0; i < dataset.problems.size() && positions.size() < most; ++i) {
    if (!wanted.empty() && missing.erase(dataset.problems[i].id) == 0) continue;
    positions.push_back(i);
  }
  if (!missing.empty() && positions.size() < most) {
    return fail(ErrorKind::usage, fmt::format("{} has no problem '{}'", dataset.file, *missing.begin()),
                fmt::format("ids look like '{}'", dataset.problems.front().id));
  }
  return positions;
}

// 0.6F as 0.6.
double plain(float value) { return std::round(static_cast<double>(value) * 1e6) / 1e6; }

std::string api_key() {
  for (const char* name : {"RELAYGEN_API_KEY", "OPENAI_API_KEY"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return "";
}

Result<std::vector<EndpointRow>> choose_endpoints(const EvalFlags& flags) {
  std::vector<EndpointRow> rows;
  for (const auto& text : flags.endpoints) {
    auto parsed = eval::parse_endpoint(text);
    if (!parsed) return tl::unexpected(parsed.error());
    const bool taken = check_policy_name(full_policy_name(parsed->name)).has_value() ||
                       std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == parsed->name; });
    if (taken) {
      return fail(ErrorKind::usage, fmt::format("the name '{}' of an endpoint is taken already", parsed->name),
                  "give another one as --endpoint NAME=URL");
    }
    rows.push_back({.name = parsed->name,
                    .options = {.url = parsed->url,
                                .key = api_key(),
                                .limits = {.connect_s = flags.endpoint_connect_timeout,
                                           .silence_s = flags.endpoint_timeout,
                                           .total_s = flags.endpoint_total_timeout},
                                .attempts = flags.endpoint_attempts,
                                .first_wait_s = flags.endpoint_wait}});
  }
  for (const auto& text : flags.endpoint_models) {
    const auto equals = text.find('=');
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) {
      return equals != std::string::npos && one.name == text.substr(0, equals);
    });
    if (row != rows.end()) {
      row->options.model = text.substr(equals + 1);
    } else if (rows.size() == 1) {
      rows.front().options.model = text;
    } else {
      return fail(ErrorKind::usage, fmt::format("--endpoint-model {} does not say which endpoint it is for", text),
                  "give it as NAME=MODEL, with the name of an --endpoint");
    }
  }
  return rows;
}

Status check_rate(const EvalFlags& flags, double& rate) {
  if (flags.random_rate == "match") return std::monostate{};
  char* end = nullptr;
  rate = std::strtod(flags.random_rate.c_str(), &end);
  if (flags.random_rate.empty() || *end != '\0' || !(rate >= 0 && rate <= 1)) {
    return fail(ErrorKind::usage, fmt::format("--random-rate is '{}'", flags.random_rate),
                "give a number from 0 to 1, or match");
  }
  return std::monostate{};
}

std::string_view rule_name(HandoffRule rule) {
  switch (rule) {
    case HandoffRule::never: return "never";
    case HandoffRule::cues: return "cues";
    case HandoffRule::random: return "random";
    case HandoffRule::opening: return "opening";
    case HandoffRule::always: return "always";
  }
  return "?";
}

}  // namespace

Result<eval::PromptTemplate> read_template(const std::string& file, const eval::Preset* preset, eval::AnswerKind kind) {
  if (file.empty())
    return eval::PromptTemplate::parse(std::string(eval::default_template(preset, kind)), "of this dataset", kind);
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  if (text->starts_with("\xEF\xBB\xBF")) text->erase(0, 3);
  if (auto ok = check_utf8(*text, file); !ok) return tl::unexpected(ok.error());
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return eval::PromptTemplate::parse(std::move(*text), file, kind);
}

Result<ChosenProblems> choose_problems(const EvalFlags& flags) {
  const auto source = find_dataset(flags);
  if (!source) return tl::unexpected(source.error());
  auto dataset = eval::read_dataset(source->file, source->preset, flags.columns);
  if (!dataset) return tl::unexpected(dataset.error());
  const auto made = read_template(flags.template_file, source->preset, dataset->kind);
  if (!made) return tl::unexpected(made.error());
  auto positions = choose_positions(flags, *dataset);
  if (!positions) return tl::unexpected(positions.error());
  ChosenProblems problems{.template_text = made->text(), .positions = std::move(*positions)};
  for (const auto position : problems.positions) {
    const auto& problem = dataset->problems[position];
    problems.chosen.push_back({problem, made->render(problem)});
  }
  problems.dataset = std::move(*dataset);
  return problems;
}

std::vector<std::string> Rows::names() const {
  std::vector<std::string> names;
  for (const auto& row : policies) names.push_back(row.name);
  for (const auto& row : endpoints) names.push_back(row.name);
  return names;
}

Result<Rows> choose_rows(const EvalFlags& flags) {
  const auto names = policies_of(flags);
  if (!names) return tl::unexpected(names.error());
  if (!names->empty()) {
    if (auto ok = check_settings(*names, policy_choice(flags.generation)); !ok) return tl::unexpected(ok.error());
  }
  Rows rows;
  double rate = 0;
  if (auto ok = check_rate(flags, rate); !ok) return tl::unexpected(ok.error());
  const auto has = [&](std::string_view name) { return std::find(names->begin(), names->end(), name) != names->end(); };
  if (!names->empty()) {
    if (auto pair = pair_options(flags.models); !pair) return tl::unexpected(pair.error());
    GenerationFlags generation = flags.generation;
    const auto first = std::ranges::find_if(*names, uses_cues);
    generation.policy = first != names->end() ? *first : "large-only";
    if (has("random") && flags.random_rate == "match") generation.policy = "relay";
    auto profile = load_profile(generation, flags.models.bundled());
    if (!profile) return tl::unexpected(profile.error());
    rows.profile = std::move(*profile);
  }
  for (const auto& name : *names) {
    if (name.starts_with("random+") && flags.random_rate == "match") {
      return fail(ErrorKind::usage, fmt::format("--random-rate match looks for the rate of random, not of {}", name),
                  "give a number, for example the rate that was found for random");
    }
    GenerationFlags generation = flags.generation;
    generation.policy = name;
    generation.random_rate = rate;
    auto prepared = prepare_policy(policy_choice(generation), rows.profile);
    if (!prepared) return tl::unexpected(prepared.error());
    const Request values{.policy = prepared->policy,
                         .sampling = generation.sampling,
                         .budgets = generation.budgets,
                         .stop = generation.stop};
    if (auto ok = check_values(values); !ok) return tl::unexpected(ok.error());
    rows.policies.push_back({name, std::move(*prepared)});
  }
  if (auto ok = check_values(Request{
          .sampling = flags.generation.sampling, .budgets = flags.generation.budgets, .stop = flags.generation.stop});
      !ok)
    return tl::unexpected(ok.error());
  auto endpoints = choose_endpoints(flags);
  if (!endpoints) return tl::unexpected(endpoints.error());
  rows.endpoints = std::move(*endpoints);
  if (rows.names().empty()) return fail(ErrorKind::usage, "--policies names none", "name at least one policy");
  const std::string baseline = full_policy_name(flags.baseline);
  const auto all = rows.names();
  if (!baseline.empty() && std::find(all.begin(), all.end(), baseline) == all.end()) {
    return fail(ErrorKind::usage, fmt::format("the baseline '{}' is none of the policies", flags.baseline),
                fmt::format("choose from {}", fmt::join(all, ", ")));
  }
  return rows;
}

OrderedJson dataset_settings(const ChosenProblems& problems) {
  return {{"name", problems.dataset.name},
          {"problems", problems.dataset.problems.size()},
          {"kind", eval::name(problems.dataset.kind)},
          {"hash", problems.dataset.hash}};
}

OrderedJson generation_settings(const EvalFlags& flags, const ChosenProblems& problems, std::uint64_t seed) {
  const SamplingOptions& sampling = flags.generation.sampling;
  const Budgets& budgets = flags.generation.budgets;
  OrderedJson json{{"temperature", plain(sampling.temperature)},
                   {"top_k", sampling.top_k},
                   {"top_p", plain(sampling.top_p)},
                   {"min_p", plain(sampling.min_p)}};
  if (sampling.penalizes()) {
    json["repeat_penalty"] = plain(sampling.repeat_penalty);
    json["presence_penalty"] = plain(sampling.presence_penalty);
    json["frequency_penalty"] = plain(sampling.frequency_penalty);
    json["penalty_last_n"] = sampling.penalty_last_n;
  }
  json["seed"] = seed;
  if (budgets.total >= 0) json["budget"] = budgets.total;
  if (budgets.thinking >= 0) json["thinking_budget"] = budgets.thinking;
  if (budgets.answer >= 0) json["answer_budget"] = budgets.answer;
  if (!flags.generation.stop.empty()) json["stop"] = flags.generation.stop;
  if (!flags.generation.system.empty()) json["system_prompt"] = flags.generation.system;
  json["thinking"] = !flags.generation.no_thinking;
  json["template"] = problems.template_text;
  return json;
}

Result<OrderedJson> pair_settings(const EvalFlags& flags, const Profile& profile) {
  const auto options = pair_options(flags.models);
  if (!options) return tl::unexpected(options.error());
  const auto large = inspect_model_file(options->large.path);
  if (!large) return tl::unexpected(large.error());
  const auto small = inspect_model_file(options->small.path);
  if (!small) return tl::unexpected(small.error());
  return OrderedJson{
      {"large", large->name},
      {"small", small->name},
      {"large_bytes", large->file_bytes},
      {"small_bytes", small->file_bytes},
      {"profile", profile.name},
      {"window", options->context},
      {"batch", options->batch},
      {"micro_batch", options->micro_batch},
      {"flash_attention", flags.models.flash_attention},
      {"cache_types", fmt::format("{} {} {} {}", options->large.cache_type_k, options->large.cache_type_v,
                                  options->small.cache_type_k, options->small.cache_type_v)}};
}

eval::StoredPolicy policy_settings(const PolicyRow& row, const EvalFlags& flags) {
  const Policy& policy = row.prepared.policy;
  OrderedJson settings{{"thinker", name(policy.thinker)},
                       {"handoffs", rule_name(policy.handoffs)},
                       {"answer_by", name(policy.answer_by)}};
  if (policy.handoffs != HandoffRule::never) {
    settings["min_large_tokens"] = policy.min_large_tokens;
    settings["max_small_tokens"] = policy.max_small_tokens;
  }
  if (policy.handoffs == HandoffRule::random) {
    settings["random_rate"] = policy.random_rate;
    settings["matched"] = flags.random_rate == "match";
  }
  if (policy.handoffs == HandoffRule::cues) {
    Hash hash;
    for (const Cue& cue : row.prepared.cues.cues()) hash.add(cue.text).add(std::uint64_t{cue.selected});
    settings["rules"] = row.prepared.cues.rules() == Rules::exact ? "exact" : "published";
    settings["cues"] = hash.hex();
  }
  if (policy.verify != Verification::off) settings["verify"] = name(policy.verify);
  if (policy.verify == Verification::typical) {
    settings["epsilon"] = policy.typical.epsilon;
    settings["delta"] = policy.typical.delta;
  }
  if (policy.guard_margin > 0) settings["guard_margin"] = policy.guard_margin;
  if (policy.draft.on()) {
    settings["draft"] = policy.draft.lookup ? policy.draft.small_model ? "all" : "lookup" : "small";
    settings["draft_max"] = policy.draft.most;
  }
  return {row.name, std::move(settings)};
}

eval::StoredPolicy endpoint_settings(const EndpointRow& row) {
  return {row.name, {{"endpoint", eval::shown_url(row.options.url)}, {"model", row.options.model}}};
}

std::unique_ptr<eval::Writer> make_writer(Pair& pair, const PolicyRow& row, const EvalFlags& flags,
                                          const CostModel* costs) {
  const auto request = [&pair, &flags, prepared = row.prepared](const std::string& prompt) {
    std::vector<ChatMessage> messages;
    if (!flags.generation.system.empty()) messages.push_back({"system", flags.generation.system});
    messages.push_back({"user", prompt});
    return make_request(pair, prepared, flags.generation, messages);
  };
  return eval::make_pair_writer(pair, request, costs);
}

Result<std::unique_ptr<eval::Writer>> make_writer(const EndpointRow& row, const EvalFlags& flags) {
  return eval::make_endpoint_writer(row.options, {.system = flags.generation.system,
                                                  .sampling = flags.generation.sampling,
                                                  .max_tokens = flags.generation.budgets.total,
                                                  .stop = flags.generation.stop,
                                                  .no_thinking = flags.generation.no_thinking});
}

}  // namespace relaygen::cli
