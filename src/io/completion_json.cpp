#include "io/completion_json.h"

#include <fmt/core.h>

#include <cmath>

#include "core/unicode.h"

namespace relaygen {
namespace {

OrderedJson number(float value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr); }

OrderedJson cue_name(const std::optional<std::uint32_t>& cue, const CueSet& cues) {
  return cue ? OrderedJson(cues.cues()[*cue].text) : OrderedJson(nullptr);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string hex(std::string_view bytes) {
  std::string result;
  for (const char byte : bytes) result += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return result;
}

OrderedJson token_to_json(const TokenEvent& token) {
  OrderedJson json{{"type", "token"}, {"index", token.index}, {"id", token.id}, {"text", std::string(token.bytes)}};
  if (!unicode::is_utf8(token.bytes)) json["bytes"] = hex(token.bytes);
  json["author"] = name(token.author);
  json["phase"] = name(token.phase);
  json["margin"] = number(token.margin);
  json["logprob"] = number(token.logprob);
  json["committed"] = token.committed;
  return json;
}

}  // namespace

OrderedJson usage_to_json(const Usage& usage) {
  const std::uint64_t generated = usage.generated();
  OrderedJson json{{"prompt_tokens", usage.prompt},
                   {"completion_tokens", generated},
                   {"large_tokens", usage.large},
                   {"small_tokens", usage.small},
                   {"forced_tokens", usage.forced},
                   {"thinking_tokens", usage.thinking},
                   {"answer_tokens", usage.answer},
                   {"dropped_tokens", usage.dropped},
                   {"handoffs", usage.handoffs},
                   {"sentence_starts", usage.sentence_starts},
                   {"small_share", share(usage.small, generated)},
                   {"utilisation", share(usage.large, generated)}};
  json["verified_tokens"] = usage.verified;
  json["refused_tokens"] = usage.refused;
  json["drafted_tokens"] = usage.drafted;
  json["accepted_tokens"] = usage.accepted;
  json["judged_tokens"] = usage.judged;
  json["judged_mean_logprob"] =
      usage.judged == 0 ? OrderedJson(nullptr) : OrderedJson(usage.judged_logprob / static_cast<double>(usage.judged));
  return json;
}

OrderedJson timing_to_json(const Timing& timing) {
  return {{"total_s", timing.total},
          {"prefill_s", timing.prefill},
          {"large_decode_s", timing.large_decode},
          {"small_decode_s", timing.small_decode},
          {"catch_up_s", timing.catch_up},
          {"verify_s", timing.verify},
          {"other_s", timing.other()},
          {"large_decodes", timing.large_decodes},
          {"small_decodes", timing.small_decodes},
          {"catch_ups", timing.catch_ups},
          {"verifies", timing.verifies}};
}

OrderedJson completion_to_json(const Completion& completion, const CueSet& cues) {
  OrderedJson json{{"text", completion.text},
                   {"thinking", completion.thinking},
                   {"answer", completion.answer},
                   {"finish", name(completion.finish)}};
  json["segments"] = OrderedJson::array();
  for (const Segment& segment : completion.segments) {
    json["segments"].push_back({{"author", name(segment.author)},
                                {"phase", name(segment.phase)},
                                {"begin", segment.begin},
                                {"end", segment.end},
                                {"tokens", segment.tokens},
                                {"cue", cue_name(segment.cue, cues)},
                                {"why", segment.why ? OrderedJson(name(*segment.why)) : OrderedJson(nullptr)}});
  }
  json["usage"] = usage_to_json(completion.usage);
  json["timing"] = timing_to_json(completion.timing);
  json["error"] = completion.error ? OrderedJson(completion.error->message) : OrderedJson(nullptr);
  return json;
}

OrderedJson event_to_json(const Event& event, const CueSet& cues) {
  if (const auto* token = std::get_if<TokenEvent>(&event)) return token_to_json(*token);
  if (const auto* segment = std::get_if<SegmentEvent>(&event)) {
    return {{"type", "segment"},       {"index", segment->index},   {"from", name(segment->from)},
            {"to", name(segment->to)}, {"why", name(segment->why)}, {"cue", cue_name(segment->cue, cues)}};
  }
  const auto& judged = std::get<JudgedEvent>(event);
  OrderedJson json{{"type", "judged"}, {"first_index", judged.first_index}, {"large_logprobs", OrderedJson::array()}};
  for (const float logprob : judged.large_logprobs) json["large_logprobs"].push_back(number(logprob));
  return json;
}

std::string to_line(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace relaygen
