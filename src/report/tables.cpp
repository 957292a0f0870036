#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "report/fields.h"
#include "report/report.h"
#include "report/table_text.h"

namespace relaygen::report {
namespace {

constexpr const char* kParts[] = {"prefill", "large decode", "small decode", "catch-up", "other"};
constexpr const char* kMeasures[] = {"small_margin", "large_margin", "agreement", "large_logprob", "refused"};

// ---- Markdown

std::string one_decimal(double value) { return digits(value, 1); }
std::string milliseconds(double value) { return duration(value / 1e3); }
std::string signed_percent(double fraction) { return points(fraction) + "%"; }

std::string verdict_words(const OrderedJson& verdict) {
  const std::string kind = text(verdict, "kind");
  if (kind.empty()) return "\u2013";
  const auto more = number(verdict, "more_questions");
  return kind == "undecided" && more ? fmt::format("undecided (about {} more questions)", count(*more)) : plain(kind);
}

MarkdownColumn name_column(const char* key) {
  return {"policy", [key](const OrderedJson& row) {
            std::string name = plain(text(row, key));
            if (const std::string endpoint = text(row, "endpoint"); !endpoint.empty()) name += " at " + plain(endpoint);
            return name;
          }};
}

std::string eval_table(const OrderedJson& data) {
  return markdown_table(
      list(data, "policies"),
      {name_column("name"),
       estimate_column("accuracy", "accuracy", percent),
       estimate_column("difference (points)", "difference", points),
       {"verdict", [](const OrderedJson& row) { return verdict_words(field(row, "verdict")); }},
       estimate_column("speed-up", "speed_up", times),
       {"tokens, mean", [](const OrderedJson& row) { return cell(number(field(row, "tokens"), "mean"), count); }},
       number_column("by the large model", "utilisation", percent),
       number_column("handoffs", "handoffs", one_decimal),
       number_column("truncated", "truncated", percent),
       {"errors, missing", [](const OrderedJson& row) {
          return fmt::format("{}, {}", cell(number(row, "errors"), count), cell(number(row, "missing"), count));
        }}});
}

std::string bench_table(const OrderedJson& data) {
  return markdown_table(
      list(data, "rows"),
      {name_column("policy"), number_column("depth", "depth", count),
       estimate_column("time a token", "ms_per_token", milliseconds), estimate_column("speed-up", "speed_up", times),
       estimate_column("over the ideal", "over_ideal", signed_percent), estimate_column("time", "seconds", duration),
       number_column("tokens", "tokens", count), number_column("by the small model", "small_share", percent),
       number_column("handoffs", "handoffs", count), number_column("dropped", "dropped", count)});
}

// A cue in which blanks at the ends can be seen.
std::string cue_name(const OrderedJson& cue) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string name = text(cue, "text");
  const std::size_t first = name.find_first_not_of(kBlanks);
  if (first == std::string::npos) return name.empty() ? "\u2013" : "\u2423";
  const std::size_t last = name.find_last_not_of(kBlanks);
  return (first > 0 ? "\u2423" : "") + plain(std::string_view(name).substr(first, last + 1 - first)) +
         (last + 1 < name.size() ? "\u2423" : "");
}

std::string decision_words(const OrderedJson& cue) {
  std::string words = text(cue, "decision");
  if (words.empty()) return is_selected(cue) ? "selected" : "\u2013";
  std::replace(words.begin(), words.end(), '_', ' ');
  return plain(words);
}

// Those that can be judged, the selected ones first, then by what the rule looks at.
OrderedJson ranked_cues(const OrderedJson& data) {
  const char* rank = text(field(data, "settings"), "rule") == "published" ? "published_score" : "safe";
  std::vector<const OrderedJson*> cues;
  for (const OrderedJson& cue : list(data, "cues")) {
    if (cue.is_object() && text(cue, "decision") != "rare") cues.push_back(&cue);
  }
  std::ranges::stable_sort(cues, [rank](const OrderedJson* a, const OrderedJson* b) {
    if (is_selected(*a) != is_selected(*b)) return is_selected(*a);
    return interval(*a, rank).value > interval(*b, rank).value;  // none is less than any
  });
  OrderedJson result = OrderedJson::array();
  for (const OrderedJson* cue : cues) result.push_back(*cue);
  return result;
}

std::string other_answers(const OrderedJson& cue) {
  const OrderedJson& proof = field(cue, "proof");
  const auto places = number(proof, "places");
  if (!places) return "\u2013";
  return fmt::format("{} of {} ({} by other dice)", cell(number(proof, "flips"), count), count(*places),
                     cell(number(proof, "own_flips"), count));
}

std::string signed_score(double score) {
  std::string result = digits(score, 3);
  return score > 0 && result != "0.000" ? "+" + result : result;
}

std::string cue_table(const OrderedJson& data) {
  const OrderedJson cues = ranked_cues(data);
  std::size_t rare = 0;
  for (const OrderedJson& cue : list(data, "cues")) rare += text(cue, "decision") == "rare" ? 1 : 0;
  std::string result;
  if (!cues.empty()) {
    result += markdown_table(
        cues,
        {{"candidate", cue_name},
         {"decision", decision_words},
         number_column("occurrences", "count", count),
         number_column("problems", "problems", count),
         estimate_column("safe", "safe", percent),
         estimate_column("paper's score", "published_score", signed_score),
         {"loss (points)", [](const OrderedJson& cue) { return cell(interval(field(cue, "proof"), "loss"), points); }},
         {"other answers", other_answers}});
  }
  if (rare > 0) {
    result += fmt::format("{}{} too rare to judge.\n", result.empty() ? "" : "\n",
                          rare == 1 ? "1 candidate is" : count(static_cast<double>(rare)) + " candidates are");
  }
  return result;
}

// What the selected cues do, and what else the traces tell; one line a number that is there.
std::string calibration_table(const OrderedJson& data) {
  OrderedJson rows = OrderedJson::array();
  const auto add = [&](const char* name, const std::string& value) {
    if (value != "\u2013") rows.push_back({{"name", name}, {"value", value}});
  };
  const OrderedJson& handover = field(data, "handover");
  add("share of the thinking handed over", cell(interval(handover, "share_of_thinking"), percent));
  add("share of all tokens", cell(interval(handover, "share"), percent));
  add("handoffs a trace", cell(number(handover, "handoffs"), one_decimal));
  add("tokens a handoff", cell(number(handover, "segment_tokens"), one_decimal));
  const OrderedJson& answers = field(data, "answers");
  add("the small model's answer is the large one's", cell(interval(answers, "agreement"), percent));
  add("right answers, large model", cell(number(answers, "right_large"), percent));
  add("right answers, small model", cell(number(answers, "right_small"), percent));
  const auto three = [](double value) { return fmt::format("{:.3g}", value); };
  const OrderedJson& thresholds = field(data, "thresholds");
  add("plausible from this probability on", cell(number(thresholds, "verify_epsilon"), three));
  add("guard: hands back below this margin", cell(number(thresholds, "guard_margin"), three));
  const auto between = number(field(data, "variance"), "between");
  const auto within = number(field(data, "variance"), "within");
  if (between && within && *between + *within > 0) {
    add("variance of margins between sentences", percent(*between / (*between + *within)));
  }
  if (rows.empty()) return "";
  return markdown_table(rows, {{"of the calibration", [](const OrderedJson& row) { return text(row, "name"); }},
                               {"value", [](const OrderedJson& row) { return text(row, "value"); }}});
}

std::string names_of(const OrderedJson& object) {
  std::string result;
  if (!object.is_object()) return result;
  for (const auto& [key, value] : object.items()) {
    if (value.is_null() || value.is_structured()) continue;
    const std::string shown = value.is_string() ? valid_utf8(value.get_ref<const std::string&>()) : to_line(value);
    result += fmt::format("{}{} {}", result.empty() ? "" : ", ", plain(valid_utf8(key)), plain(shown));
  }
  return result;
}

// ---- CSV

std::string eval_csv(const OrderedJson& data) {
  CsvTable table;
  for (const OrderedJson& policy : list(data, "policies")) {
    table.begin_row();
    table.add_text("policy", policy, "name");
    table.add_text("endpoint", policy, "endpoint");
    for (const char* key : {"outputs", "errors", "missing", "compared"}) table.add_number(key, policy, key);
    table.add_estimate("accuracy", policy, "accuracy");
    table.add_estimate("difference", policy, "difference");
    const OrderedJson& mcnemar = field(policy, "mcnemar");
    table.add_number("only_baseline", mcnemar, "only_baseline");
    table.add_number("only_policy", mcnemar, "only_policy");
    table.add_number("mcnemar_p", mcnemar, "p");
    table.add_text("verdict", field(policy, "verdict"), "kind");
    table.add_number("more_questions", field(policy, "verdict"), "more_questions");
    for (const char* key : {"right", "wrong", "no_answer", "unfinished"}) {
      table.add_number(key, field(policy, "verdicts"), key);
    }
    table.add_number("seconds", policy, "seconds");
    table.add_estimate("speed_up", policy, "speed_up");
    for (const char* key : {"mean", "median", "p90", "thinking_mean", "answer_mean"}) {
      table.add_number(std::string("tokens_") + key, field(policy, "tokens"), key);
    }
    for (const char* key : {"utilisation", "small_share", "handoffs", "truncated"}) table.add_number(key, policy, key);
    for (const char* key : {"prefill", "large_decode", "small_decode", "catch_up", "verify", "other"}) {
      table.add_number(std::string(key) + "_s", field(policy, "time"), key);
    }
  }
  return table.text_of();
}

std::string bench_csv(const OrderedJson& data) {
  CsvTable table;
  for (const OrderedJson& row : list(data, "rows")) {
    table.begin_row();
    table.add_text("policy", row, "policy");
    table.add_number("depth", row, "depth");
    for (const char* key : {"seconds", "ms_per_token", "speed_up"}) table.add_estimate(key, row, key);
    for (const char* key : {"tokens", "small_share", "handoffs", "dropped"}) table.add_number(key, row, key);
    for (const char* name : kParts) {
      const OrderedJson& parts = list(row, "parts");
      const auto found =
          std::find_if(parts.begin(), parts.end(), [&](const OrderedJson& part) { return text(part, "part") == name; });
      const OrderedJson part = found == parts.end() ? OrderedJson() : *found;
      std::string column = name;
      std::replace_if(
          column.begin(), column.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
      table.add_number(column + "_batches", part, "batches");
      table.add_number(column + "_s", part, "actual");
      table.add_number(column + "_ideal_s", part, "ideal");
    }
    table.add_number("ideal_s", row, "ideal_seconds");
    table.add_estimate("over_ideal", row, "over_ideal");
  }
  return table.text_of();
}

std::string yes_or_no(const OrderedJson& json) { return json.is_boolean() ? json.get<bool>() ? "yes" : "no" : ""; }

std::string calibrate_csv(const OrderedJson& data) {
  CsvTable table;
  for (const OrderedJson& cue : list(data, "cues")) {
    table.begin_row();
    table.add_text("cue", cue, "text");
    table.add("selected", yes_or_no(field(cue, "selected")));
    table.add_text("decision", cue, "decision");
    table.add("discovered", yes_or_no(field(cue, "discovered")));
    for (const char* key : {"count", "problems", "tokens"}) table.add_number(key, cue, key);
    table.add_estimate("safe", cue, "safe");
    table.add_number("safe_p", cue, "safe_p");
    table.add_estimate("safe_against", cue, "safe_against");
    table.add_estimate("published_score", cue, "published_score");
    table.add_number("published_p", cue, "published_p");
    for (const char* key : kMeasures) {
      table.add_estimate(std::string("behind_") + key, field(cue, "behind"), key);
      table.add_estimate(std::string("against_") + key, field(cue, "against"), key);
    }
    const OrderedJson& proof = field(cue, "proof");
    for (const char* key : {"places", "problems", "flips", "own_flips"}) {
      table.add_number(std::string("proof_") + key, proof, key);
    }
    for (const char* key : {"flip_rate", "own_flip_rate", "loss"}) {
      table.add_estimate(std::string("proof_") + key, proof, key);
    }
    table.add_text("proof_loss_of", proof, "loss_of");
  }
  return table.text_of();
}

}  // namespace

std::string report_markdown(const OrderedJson& data) {
  const std::string title = text(data, "title");
  std::string result = fmt::format("# {}\n", title.empty() ? "RelayGen report" : plain(title));
  std::string headline = text(data, "headline");
  if (headline.empty()) headline = report_headline(data);
  if (!headline.empty()) result += fmt::format("\n{}\n", plain(headline));
  for (const OrderedJson& note : list(data, "notes")) {
    if (note.is_string()) result += fmt::format("\n> {}\n", plain(valid_utf8(note.get_ref<const std::string&>())));
  }
  const std::string kind = text(data, "kind");
  if (kind == "eval" && !list(data, "policies").empty()) result += "\n" + eval_table(data);
  if (kind == "bench" && !list(data, "rows").empty()) result += "\n" + bench_table(data);
  if (kind == "calibrate") {
    for (const std::string& table : {cue_table(data), calibration_table(data)}) {
      if (!table.empty()) result += "\n" + table;
    }
  }
  const bool is_range = kind == "bench" && number(data, "repetitions").value_or(0) < 6;
  result += is_range ? "\nParentheses hold the range of all repetitions.\n" : "\nParentheses hold 95% intervals.\n";

  std::string facts;
  const auto fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts += fmt::format("- {}: {}\n", name, value);
  };
  fact("models", names_of(field(data, "models")));
  fact("profile", plain(text(data, "profile")));
  fact("dataset", names_of(field(data, "dataset")));
  fact("counts", names_of(field(data, "counts")));
  fact("workload", names_of(field(data, "workload")));
  fact("settings", names_of(field(data, "settings")));
  fact("machine", names_of(field(data, "machine")));
  fact("program", plain(text(data, "program")));
  fact("engine", plain(text(data, "engine")));
  fact("command", plain(text(data, "command")));
  fact("made", plain(text(data, "created")));
  if (!facts.empty()) result += "\n" + facts;
  return result;
}

std::string report_csv(const OrderedJson& data) {
  const std::string kind = text(data, "kind");
  if (kind == "eval") return eval_csv(data);
  if (kind == "bench") return bench_csv(data);
  if (kind == "calibrate") return calibrate_csv(data);
  return "";
}

}  // namespace relaygen::report
