// Chat templates: messages in, prompt text and thinking tags out.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "relaygen/error.h"
#include "relaygen/pair.h"

struct llama_model;

namespace relaygen::engine {

/// A prompt as the template gives it.
struct RenderedChat {
  std::string text;
  std::string generation_prompt;  ///< its end, from where the assistant's turn begins
  ThinkingTags tags;
};

/// The chat template of a model, ChatML where it has none. Immutable after loading.
class ChatTemplate {
 public:
  /// Errors: bad_model (the template cannot be parsed).
  [[nodiscard]] static Result<ChatTemplate> load(const llama_model* model);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// Errors: bad_input (no messages, not UTF-8, the template refuses them).
  [[nodiscard]] Result<RenderedChat> render(std::span<const ChatMessage> messages, bool enable_thinking) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace relaygen::engine
