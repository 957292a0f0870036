#include <fmt/core.h>

#include <array>
#include <cmath>
#include <vector>

#include "report/fields.h"
#include "report/report.h"

namespace relaygen::report {
namespace {

// The policy that a reader came for: relay, else the first that is neither the baseline nor the small model alone.
const OrderedJson* subject(const OrderedJson& rows, const char* key, const std::string& baseline) {
  const OrderedJson* best = nullptr;
  int best_rank = 0;
  for (const OrderedJson& row : rows) {
    const std::string name = text(row, key);
    if (name == baseline) continue;
    const int rank = name == "relay" ? 3 : name != "small-only" ? 2 : 1;
    if (rank > best_rank) {
      best_rank = rank;
      best = &row;
    }
  }
  return best;
}

// Up to one decimal.
std::string short_number(double value) {
  std::string result = digits(value, 1);
  if (result.ends_with(".0")) result.resize(result.size() - 2);
  return result;
}

std::string range(const Interval& interval, std::string (*format)(double)) {
  return interval.low && interval.high ? fmt::format("{} to {}", format(*interval.low), format(*interval.high))
                                       : std::string();
}

std::string speed_phrase(const Interval& speed_up, const std::string& baseline) {
  if (!speed_up.value) return "";
  const std::string bounds = range(speed_up, times);
  const std::string figure = times(*speed_up.value) + (bounds.empty() ? "" : ", 95% interval " + bounds);
  if (!speed_up.low || !speed_up.high) return fmt::format(" Its speed was {} that of {}.", figure, baseline);
  if (*speed_up.low > 1) return fmt::format(" It was faster than {} ({}).", baseline, figure);
  if (*speed_up.high < 1) return fmt::format(" It was slower than {} ({}).", baseline, figure);
  return fmt::format(" Whether it is faster than {} is open ({}).", baseline, figure);
}

std::string joined(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) result += i + 1 == names.size() ? " and " : ", ";
    result += names[i];
  }
  return result;
}

// What became of the other policies, by verdict.
std::string others(const OrderedJson& policies, const OrderedJson* subject, const std::string& baseline) {
  struct Group {
    const char* kind;
    const char* one;
    const char* more;
    std::vector<std::string> names;
  };
  std::array<Group, 3> groups{Group{"kept", "kept it", "kept it", {}},
                              Group{"lost", "lost more than that", "lost more than that", {}},
                              Group{"undecided", "is undecided", "are undecided", {}}};
  std::size_t all = 0;
  for (const OrderedJson& policy : policies) {
    if (&policy == subject || text(policy, "name") == baseline) continue;
    for (Group& group : groups) {
      if (text(field(policy, "verdict"), "kind") != group.kind) continue;
      group.names.push_back(text(policy, "name"));
      ++all;
    }
  }
  if (all == 0 || all > 6) return "";
  std::string result;
  for (const Group& group : groups) {
    if (group.names.empty()) continue;
    result += fmt::format("{}{} {}", result.empty() ? "" : "; ", joined(group.names),
                          group.names.size() == 1 ? group.one : group.more);
  }
  return fmt::format(" Of the others, {}.", result);
}

std::string eval_headline(const OrderedJson& data) {
  const std::string baseline = text(data, "baseline");
  const OrderedJson& policies = list(data, "policies");
  const OrderedJson* found = subject(policies, "name", baseline);
  if (found == nullptr) {
    for (const OrderedJson& policy : policies) {
      const Interval accuracy = interval(policy, "accuracy");
      if (!accuracy.value) continue;
      const std::string bounds = range(accuracy, percent);
      return fmt::format("{} answered {} right{}.", text(policy, "name"), percent(*accuracy.value),
                         bounds.empty() ? "" : ", 95% interval " + bounds);
    }
    return "";
  }
  const std::string name = text(*found, "name");
  const Interval difference = interval(*found, "difference");
  const std::optional<double> margin = number(data, "margin");
  const std::string kind = text(field(*found, "verdict"), "kind");
  const std::string within = margin ? fmt::format("{} points", short_number(100 * *margin)) : "the margin";
  std::string sentence;
  if (kind == "kept") {
    sentence = fmt::format("{} kept the accuracy of {} within {}", name, baseline, within);
  } else if (kind == "lost") {
    sentence = fmt::format("{} lost more than {} of the accuracy of {}", name, within, baseline);
  } else if (kind == "undecided") {
    sentence = fmt::format("Whether {} keeps the accuracy of {} within {} is undecided", name, baseline, within);
  } else if (difference.value) {
    sentence = fmt::format("{} was compared with {}", name, baseline);
  }
  if (!sentence.empty() && difference.value) {
    const std::string bounds = range(difference, points);
    sentence += fmt::format(" (difference {} points{})", points(*difference.value),
                            bounds.empty() ? "" : ", 95% interval " + bounds);
  }
  if (!sentence.empty()) sentence += ".";
  if (const auto more = number(field(*found, "verdict"), "more_questions"); kind == "undecided" && more) {
    sentence += fmt::format(" About {} more questions would decide.", count(*more));
  }
  sentence += speed_phrase(interval(*found, "speed_up"), baseline);
  sentence += others(policies, found, baseline);
  return sentence.starts_with(' ') ? sentence.substr(1) : sentence;
}

std::string bench_headline(const OrderedJson& data) {
  const std::string baseline = text(data, "baseline");
  const OrderedJson* found = subject(list(data, "rows"), "policy", baseline);
  if (found == nullptr) return "";
  const std::string name = text(*found, "policy");
  std::string sentence;
  int depths = 0;
  for (const OrderedJson& row : list(data, "rows")) {
    if (text(row, "policy") != name) continue;
    ++depths;
    const Interval speed_up = interval(row, "speed_up");
    if (!speed_up.value) continue;
    const auto depth = number(row, "depth");
    const std::string bounds = range(speed_up, times);
    sentence += fmt::format("{}{}{}{}", sentence.empty() ? "" : "; ", times(*speed_up.value),
                            depth ? " at depth " + count(*depth) : "", bounds.empty() ? "" : " (" + bounds + ")");
  }
  if (sentence.empty()) return "";
  sentence = fmt::format("{} ran at this multiple of the speed of {}: {}.", name, baseline, sentence);
  if (const Interval over = interval(*found, "over_ideal"); over.value) {
    const auto depth = number(*found, "depth");
    sentence +=
        fmt::format(" Its time was {} {} the ideal of its parts{}.", percent(std::abs(*over.value)),
                    *over.value < 0 ? "below" : "above", depths > 1 && depth ? " at depth " + count(*depth) : "");
  }
  return sentence;
}

// Why the candidates that are no cues are none.
std::string rejections(const OrderedJson& cues) {
  struct Group {
    const char* decision;
    const char* one;
    const char* more;
    std::size_t size = 0;
  };
  std::array<Group, 6> groups{Group{"refused", "is refused by the large model", "are refused by the large model"},
                              Group{"low_score", "has too low a score", "have too low a score"},
                              Group{"harmful", "changes answers for the worse", "change answers for the worse"},
                              Group{"unproven", "is unproven", "are unproven"},
                              Group{"redundant", "is not needed", "are not needed"},
                              Group{"rare", "is too rare to judge", "are too rare to judge"}};
  std::vector<std::string> phrases;
  for (Group& group : groups) {
    for (const OrderedJson& cue : cues) group.size += text(cue, "decision") == group.decision ? 1 : 0;
    if (group.size == 0) continue;
    phrases.push_back(fmt::format("{} {}", group.size, group.size == 1 ? group.one : group.more));
  }
  return joined(phrases);
}

std::string calibrate_headline(const OrderedJson& data) {
  const OrderedJson& cues = list(data, "cues");
  std::size_t all = 0;
  std::size_t selected = 0;
  for (const OrderedJson& cue : cues) {
    all += cue.is_object() ? 1 : 0;
    selected += is_selected(cue) ? 1 : 0;
  }
  if (all == 0) return "";
  std::string sentence =
      fmt::format("{} of {} {} {} for this pair", selected == 0 ? "None" : fmt::format("{}", selected), all,
                  all == 1 ? "candidate" : "candidates", selected > 1 ? "are cues" : "is a cue");
  if (text(field(data, "settings"), "rule") == "published") sentence += " by the paper's score";
  const OrderedJson& handover = field(data, "handover");
  if (const Interval share = interval(handover, "share_of_thinking"); selected > 0 && share.value) {
    const std::string bounds = range(share, percent);
    const OrderedJson& apart = field(handover, "apart");
    const bool is_same = apart.is_boolean() && !apart.get<bool>();
    sentence +=
        fmt::format("; {} over {} of the thinking{}{}", selected > 1 ? "they hand" : "it hands", percent(*share.value),
                    is_same ? " of the same problems" : "", bounds.empty() ? "" : " (95% interval " + bounds + ")");
    const OrderedJson& may_answer = field(field(data, "answers"), "small_may_answer");
    const auto with_answers = interval(handover, "share").value;
    if (may_answer.is_boolean() && may_answer.get<bool>() && with_answers) {
      sentence += fmt::format(", and with the answers {} of all tokens", percent(*with_answers));
    }
  }
  sentence += ".";
  if (const std::string others = rejections(cues); !others.empty()) {
    sentence += fmt::format(" {} {}.", selected > 0 ? "Of the others," : "Of these,", others);
  }
  return sentence;
}

}  // namespace

std::string report_headline(const OrderedJson& data) {
  const std::string kind = text(data, "kind");
  if (kind == "eval") return eval_headline(data);
  if (kind == "bench") return bench_headline(data);
  if (kind == "calibrate") return calibrate_headline(data);
  return "";
}

}  // namespace relaygen::report
