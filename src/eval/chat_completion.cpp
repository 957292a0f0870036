// The JSON of chat completions: what is asked and how replies are read.
#include <algorithm>
#include <cmath>

#include "eval/endpoint.h"

namespace relaygen::eval {
namespace {

// 0.6F as 0.6, not as 0.60000002384.
double plain(float value) { return std::round(static_cast<double>(value) * 1e6) / 1e6; }

// A string, or the texts of a list of parts.
std::string text_in(const OrderedJson& message, const char* key) {
  if (!message.contains(key)) return "";
  const OrderedJson& value = message[key];
  if (value.is_string()) return value.get<std::string>();
  std::string text;
  if (!value.is_array()) return text;
  for (const auto& part : value) {
    if (part.is_object() && part.contains("text") && part["text"].is_string()) text += part["text"].get<std::string>();
  }
  return text;
}

bool is_list_of_parts(const OrderedJson& value) {
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(), [](const auto& part) { return part.is_object(); });
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Thinking and answer of a message. Some servers cut the text at the tags, others leave them in the content.
void take_message(const OrderedJson& message, Output& output) {
  const std::string content = text_in(message, "content");
  std::string reasoning = text_in(message, "reasoning_content");
  if (reasoning.empty()) reasoning = text_in(message, "reasoning");
  if (!reasoning.empty()) {
    output.text = "<think>\n" + reasoning + "\n</think>\n\n" + content;
    output.answer = trimmed(content);
    return;
  }
  output.text = content;
  constexpr std::string_view kEnd = "</think>";
  if (const auto end = content.find(kEnd); end != std::string::npos) {
    output.answer = trimmed(std::string_view(content).substr(end + kEnd.size()));
  } else if (!trimmed(content).starts_with("<think>")) {
    output.answer = trimmed(content);
  }
}

std::uint64_t count(const OrderedJson& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_number_unsigned() ? json[key].get<std::uint64_t>() : 0;
}

void take_usage(const OrderedJson& reply, Output& output) {
  if (!reply.contains("usage")) return;
  const OrderedJson& usage = reply["usage"];
  output.tokens.prompt = count(usage, "prompt_tokens");
  output.tokens.generated = count(usage, "completion_tokens");
  if (!usage.is_object() || !usage.contains("completion_tokens_details")) return;
  const OrderedJson& details = usage["completion_tokens_details"];
  if (!details.is_object() || !details.contains("reasoning_tokens")) return;
  const auto thinking = std::min(count(details, "reasoning_tokens"), output.tokens.generated);
  output.tokens.phases = TokenCounts::Phases{.thinking = thinking, .answer = output.tokens.generated - thinking};
}

}  // namespace

std::string request_body(const EndpointOptions& options, const EndpointRequest& request, const std::string& prompt,
                         std::uint64_t seed) {
  OrderedJson json;
  if (!options.model.empty()) json["model"] = options.model;
  json["messages"] = OrderedJson::array();
  if (!request.system.empty()) json["messages"].push_back({{"role", "system"}, {"content", request.system}});
  json["messages"].push_back({{"role", "user"}, {"content", prompt}});
  json["stream"] = false;
  const SamplingOptions& sampling = request.sampling;
  json["temperature"] = plain(sampling.temperature);
  if (sampling.temperature > 0) {
    if (sampling.top_p < 1) json["top_p"] = plain(sampling.top_p);
    if (sampling.top_k > 0) json["top_k"] = sampling.top_k;
    if (sampling.min_p > 0) json["min_p"] = plain(sampling.min_p);
    json["seed"] = seed & 0x7fffffffu;  // what all servers take
  }
  if (sampling.presence_penalty != 0) json["presence_penalty"] = plain(sampling.presence_penalty);
  if (sampling.frequency_penalty != 0) json["frequency_penalty"] = plain(sampling.frequency_penalty);
  if (sampling.repeat_penalty != 1) json["repeat_penalty"] = plain(sampling.repeat_penalty);
  if (request.max_tokens >= 0) json["max_tokens"] = request.max_tokens;
  if (!request.stop.empty()) json["stop"] = request.stop;
  if (request.no_thinking) json["chat_template_kwargs"] = {{"enable_thinking", false}};
  return to_line(json);
}

tl::expected<Output, std::string> parse_reply(const std::string& body) {
  const auto wrong = [](std::string what) { return tl::unexpected("the server's reply " + std::move(what)); };
  const auto json = OrderedJson::parse(body, nullptr, false);
  if (json.is_discarded()) {
    const auto start = trimmed(body);
    return wrong(start.empty()            ? "is empty"
                 : start.starts_with('<') ? "is HTML, not JSON: is this the URL of an API?"
                                          : "is no JSON");
  }
  if (json.is_object() && json.contains("error") && json["error"].is_object()) {
    const auto message = text_in(json["error"], "message");
    return wrong("is an error" + (message.empty() ? "" : ": " + message.substr(0, 200)));
  }
  if (!json.is_object() || !json.contains("choices") || !json["choices"].is_array() || json["choices"].empty())
    return wrong("holds no choices");
  const OrderedJson& choice = json["choices"].front();
  if (!choice.is_object() || !choice.contains("message") || !choice["message"].is_object())
    return wrong("holds no message");
  const OrderedJson& message = choice["message"];
  const bool has_reasoning = !text_in(message, "reasoning_content").empty() || !text_in(message, "reasoning").empty();
  const bool has_content =
      message.contains("content") && (message["content"].is_string() || is_list_of_parts(message["content"]));
  if (!has_content && !has_reasoning) return wrong("holds a message without text");
  Output output;
  take_message(message, output);
  take_usage(json, output);
  const auto reason = text_in(choice, "finish_reason");
  const bool ended = reason.empty() || reason == "stop" || reason == "eos" || reason == "end_turn";
  output.finish = ended ? FinishReason::stop : FinishReason::length;
  return output;
}

}  // namespace relaygen::eval
