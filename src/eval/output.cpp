#include "eval/output.h"

#include <algorithm>
#include <initializer_list>

namespace relaygen::eval {
namespace {

OrderedJson parse(const std::string& text) { return OrderedJson::parse(text, nullptr, false); }

// A number of an object; 0 where there is none.
template <typename T>
T number(const OrderedJson& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_number() ? json[key].get<T>() : T{};
}

}  // namespace

Output output_of(const Completion& completion) {
  Output output{.text = completion.text, .answer = completion.answer, .finish = completion.finish};
  const Usage& usage = completion.usage;
  output.tokens.prompt = usage.prompt;
  output.tokens.generated = usage.large + usage.small + usage.forced;
  output.tokens.phases = TokenCounts::Phases{.thinking = usage.thinking, .answer = usage.answer};
  output.tokens.authors = TokenCounts::Authors{.large = usage.large,
                                               .small = usage.small,
                                               .forced = usage.forced,
                                               .handoffs = usage.handoffs,
                                               .dropped = usage.dropped,
                                               .verified = usage.verified,
                                               .refused = usage.refused,
                                               .drafted = usage.drafted,
                                               .accepted = usage.accepted};
  const Timing& timing = completion.timing;
  output.time.total = timing.total;
  output.time.parts = TimeSpent::Parts{.prefill = timing.prefill,
                                       .large_decode = timing.large_decode,
                                       .small_decode = timing.small_decode,
                                       .catch_up = timing.catch_up,
                                       .verify = timing.verify};
  for (const Segment& segment : completion.segments)
    output.segments.push_back({std::string(name(segment.author)), segment.begin, segment.end});
  return output;
}

std::string tokens_to_text(const TokenCounts& tokens) {
  OrderedJson json{{"prompt", tokens.prompt}, {"generated", tokens.generated}};
  if (tokens.phases) json.update({{"thinking", tokens.phases->thinking}, {"answer", tokens.phases->answer}});
  if (tokens.authors) {
    json.update({{"large", tokens.authors->large},
                 {"small", tokens.authors->small},
                 {"forced", tokens.authors->forced},
                 {"handoffs", tokens.authors->handoffs},
                 {"dropped", tokens.authors->dropped},
                 {"verified", tokens.authors->verified},
                 {"refused", tokens.authors->refused},
                 {"drafted", tokens.authors->drafted},
                 {"accepted", tokens.authors->accepted}});
  }
  return json.dump();
}

TokenCounts tokens_from_text(const std::string& text) {
  using Count = std::uint64_t;
  const auto json = parse(text);
  TokenCounts tokens{.prompt = number<Count>(json, "prompt"), .generated = number<Count>(json, "generated")};
  if (!json.is_object()) return tokens;
  if (json.contains("thinking"))
    tokens.phases = {.thinking = number<Count>(json, "thinking"), .answer = number<Count>(json, "answer")};
  if (json.contains("large")) {
    tokens.authors = {.large = number<Count>(json, "large"),
                      .small = number<Count>(json, "small"),
                      .forced = number<Count>(json, "forced"),
                      .handoffs = number<Count>(json, "handoffs"),
                      .dropped = number<Count>(json, "dropped"),
                      .verified = number<Count>(json, "verified"),
                      .refused = number<Count>(json, "refused"),
                      .drafted = number<Count>(json, "drafted"),
                      .accepted = number<Count>(json, "accepted")};
  }
  return tokens;
}

std::string time_to_text(const TimeSpent& time) {
  OrderedJson json{{"total", time.total}};
  if (time.parts) {
    json.update({{"prefill", time.parts->prefill},
                 {"large_decode", time.parts->large_decode},
                 {"small_decode", time.parts->small_decode},
                 {"catch_up", time.parts->catch_up},
                 {"verify", time.parts->verify}});
  }
  return json.dump();
}

TimeSpent time_from_text(const std::string& text) {
  const auto json = parse(text);
  TimeSpent time{.total = number<double>(json, "total")};
  if (json.is_object() && json.contains("prefill")) {
    time.parts = {.prefill = number<double>(json, "prefill"),
                  .large_decode = number<double>(json, "large_decode"),
                  .small_decode = number<double>(json, "small_decode"),
                  .catch_up = number<double>(json, "catch_up"),
                  .verify = json.contains("verify") ? number<double>(json, "verify") : 0};
  }
  return time;
}

// [["large",0,120],["small",120,180]]
std::string segments_to_text(const std::vector<TextSegment>& segments) {
  auto json = OrderedJson::array();
  for (const auto& segment : segments) json.push_back({segment.author, segment.begin, segment.end});
  return json.dump();
}

std::vector<TextSegment> segments_from_text(const std::string& text) {
  std::vector<TextSegment> segments;
  const auto json = parse(text);
  if (!json.is_array()) return segments;
  for (const auto& one : json) {
    if (!one.is_array() || one.size() != 3 || !one[0].is_string() || !one[1].is_number_unsigned() ||
        !one[2].is_number_unsigned())
      continue;
    segments.push_back({one[0].get<std::string>(), one[1].get<std::uint64_t>(), one[2].get<std::uint64_t>()});
  }
  return segments;
}

FinishReason finish_reason(std::string_view text) {
  for (const FinishReason reason : {FinishReason::stop, FinishReason::stop_string, FinishReason::length,
                                    FinishReason::cancelled, FinishReason::error}) {
    if (name(reason) == text) return reason;
  }
  return FinishReason::none;
}

}  // namespace relaygen::eval
