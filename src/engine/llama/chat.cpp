// The only file that includes llama.cpp's common/ code, whose functions throw: nothing gets past this one.
#include "engine/llama/chat.h"

#include <chat.h>
#include <fmt/format.h>
#include <llama.h>
#include <log.h>

#include <algorithm>
#include <optional>

#include "core/unicode.h"
#include "engine/llama/log.h"
#include "engine/llama/text.h"

namespace relaygen::engine {

struct ChatTemplate::Impl {
  common_chat_templates_ptr templates;
  ThinkingTags fallback;  // used where llama.cpp reports no tags
};

namespace {

constexpr std::string_view kBegin = "<think>", kEnd = "</think>";

/// Whether the vocabulary has a token of exactly this text.
bool has_token(const llama_model* model, std::string_view text) {
  llama_token token = LLAMA_TOKEN_NULL;
  const auto bytes = static_cast<std::int32_t>(text.size());
  return llama_tokenize(llama_model_get_vocab(model), text.data(), bytes, &token, 1, false, true) == 1;
}

/// llama.cpp finds the tags by comparing what the template renders, and not every template gives it enough to compare.
/// A model without a template of its own says by its special tokens whether it was trained to think; one with a
/// template says it there (a model may keep the tokens of its family and never use them).
ThinkingTags fallback_tags(const llama_model* model, const std::string& source, bool own_template) {
  const bool thinks =
      own_template ? source.find(kEnd) != std::string::npos : has_token(model, kBegin) && has_token(model, kEnd);
  if (!thinks) return {};
  return ThinkingTags{std::string(kBegin), {std::string(kEnd)}};
}

ThinkingTags reported_tags(const common_chat_params& params) {
  ThinkingTags tags;
  tags.begin = trimmed(params.thinking_start_tag);
  for (const std::string& end : params.thinking_end_tags) {
    std::string tag(trimmed(end));
    if (!tag.empty() && std::ranges::find(tags.ends, tag) == tags.ends.end()) tags.ends.push_back(std::move(tag));
  }
  if (tags.ends.empty()) tags.begin.clear();
  return tags;
}

/// What follows the last message of the user, where llama.cpp does not say where the assistant's turn begins.
std::string after_last_user_message(const std::string& text, std::span<const ChatMessage> messages) {
  for (std::size_t i = messages.size(); i-- > 0;) {
    if (messages[i].role != "user" || messages[i].content.empty()) continue;
    const std::string_view content = trimmed(messages[i].content);
    const std::size_t at = text.rfind(content);
    return at == std::string::npos ? text : text.substr(at + content.size());
  }
  return text;
}

std::optional<Error> check(std::span<const ChatMessage> messages) {
  if (messages.empty()) return Error{ErrorKind::bad_input, "There are no messages to answer", "give at least one"};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role.empty()) {
      return Error{ErrorKind::bad_input, fmt::format("Message {} has no role", i + 1), "use system, user or assistant"};
    }
    if (!unicode::is_utf8(messages[i].content) || !unicode::is_utf8(messages[i].role)) {
      return Error{ErrorKind::bad_input,
                   fmt::format("Message {} ({}) is not UTF-8", i + 1, printable(messages[i].role)),
                   "convert it, for example with iconv"};
    }
  }
  return std::nullopt;
}

/// What common/ threw, as part of a sentence. Its text is a report of many lines, with the template's own words (or
/// those of the interpreter) after the last of these marks.
std::string reason(const std::exception& error) {
  std::string_view text = error.what();
  for (const std::string_view mark : {"Jinja Exception: ", "Error: ", "failed: "}) {
    if (const std::size_t at = text.rfind(mark); at != std::string_view::npos) {
      text.remove_prefix(at + mark.size());
      break;
    }
  }
  text = trimmed(text);
  text = trimmed(text.substr(0, text.find('\n')));
  while (text.ends_with('.')) text.remove_suffix(1);
  return text.empty() ? "no reason was given" : std::string(text);
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::load(const llama_model* model) {
  try {
    common_log_set_verbosity_thold(-1);  // common/ has a log of its own, straight to the terminal
    auto impl = std::make_unique<Impl>();
    impl->templates = common_chat_templates_init(model, "");
    const bool own = llama_model_chat_template(model, nullptr) != nullptr;
    if (!own) log_line(3, "The large model has no chat template: ChatML is used");
    impl->fallback = fallback_tags(model, common_chat_templates_source(impl->templates.get()), own);
    return ChatTemplate(std::move(impl));
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "Memory ran out while reading the chat template", "close other programs");
  } catch (const std::exception& error) {
    return fail(ErrorKind::bad_model, "The large model's chat template cannot be read: " + reason(error),
                "use a newer conversion of the model");
  }
}

Result<RenderedChat> ChatTemplate::render(std::span<const ChatMessage> messages, bool enable_thinking) const {
  try {
    if (auto error = check(messages)) return tl::unexpected(std::move(*error));
    common_chat_templates_inputs inputs;
    inputs.add_generation_prompt = true;
    inputs.enable_thinking = enable_thinking;
    inputs.reasoning_format = COMMON_REASONING_FORMAT_NONE;
    for (const ChatMessage& message : messages) {
      common_chat_msg converted;
      converted.role = message.role;
      converted.content = message.content;
      inputs.messages.push_back(std::move(converted));
    }
    const common_chat_params params = common_chat_templates_apply(impl_->templates.get(), inputs);
    RenderedChat chat;
    chat.text = params.prompt;
    chat.tags = reported_tags(params);
    if (chat.tags.ends.empty()) chat.tags = impl_->fallback;
    chat.generation_prompt =
        params.generation_prompt.empty() ? after_last_user_message(params.prompt, messages) : params.generation_prompt;
    return chat;
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "Memory ran out while rendering the chat", "close other programs");
  } catch (const std::exception& error) {
    return fail(ErrorKind::bad_input, "The model's chat template refuses these messages: " + reason(error),
                "check their roles and order");
  }
}

}  // namespace relaygen::engine
