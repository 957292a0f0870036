// Chat templates: what the bundled pair renders, and other templates on its vocabulary.
#include <algorithm>
#include <array>

#include "integration/model_files.h"

namespace relaygen {
namespace {

using test::demo;
using test::demo_options;
using test::TempFolder;

const ThinkingTags kThinkTags{"<think>", {"</think>"}};

std::unique_ptr<Pair> load(const PairOptions& options) {
  auto pair = Pair::load(options);
  if (!pair) ADD_FAILURE() << pair.error().message;
  return pair ? std::move(*pair) : nullptr;
}

/// The bundled pair with another template; an empty one is taken out.
std::unique_ptr<Pair> with_template(const TempFolder& folder, const std::string& source,
                                    const test::Variant& more = {}) {
  PairOptions options = demo_options();
  options.large.path = folder.file("large.gguf");
  options.small.path = folder.file("small.gguf");
  for (const auto& [from, to] :
       {std::pair{demo(Model::large), options.large.path}, {demo(Model::small), options.small.path}}) {
    test::write_variant(from, to,
                        {.edit =
                             [&](gguf_context* gguf) {
                               gguf_remove_key(gguf, "tokenizer.chat_template");
                               if (!source.empty()) gguf_set_val_str(gguf, "tokenizer.chat_template", source.c_str());
                               more.edit(gguf);
                             },
                         .change = more.change});
  }
  return load(options);
}

std::string joined(const Pair& pair, const std::vector<TokenId>& tokens) {
  std::string text;
  for (const TokenId token : tokens) text += pair.vocabulary().piece(token);
  return text;
}

constexpr const char* kChatml =
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

TEST(Chat, RendersTheBundledTemplate) {
  const auto pair = load(demo_options());
  const std::array<ChatMessage, 1> messages{{{"user", "Tom has 3 apples."}}};
  const auto prompt = pair->render(messages, true);
  ASSERT_TRUE(prompt)
      << prompt.error().message
      << "; if nothing renders, the prebuilt llama.cpp does not fit: build it from source (-DRELAYGEN_LLAMA=source)";
  EXPECT_EQ(prompt->text, "<|im_start|>user\nTom has 3 apples.<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompt->tags, kThinkTags);
  EXPECT_EQ(prompt->state, PromptState::before_thinking);
  EXPECT_EQ(joined(*pair, prompt->tokens), prompt->text);
  EXPECT_EQ(pair->vocabulary().piece(prompt->tokens.front()), "<|im_start|>");
}

TEST(Chat, WithoutThinkingThePromptHoldsAnEmptyThought) {
  const auto pair = load(demo_options());
  const std::array<ChatMessage, 1> messages{{{"user", "Tom has 3 apples."}}};
  const auto prompt = pair->render(messages, false);
  ASSERT_TRUE(prompt);
  EXPECT_TRUE(prompt->text.ends_with("<|im_start|>assistant\n<think>\n\n</think>\n\n")) << prompt->text;
  EXPECT_EQ(prompt->tags, kThinkTags);
  EXPECT_EQ(prompt->state, PromptState::answering);
}

TEST(Chat, KeepsSystemPromptAndEarlierTurns) {
  const auto pair = load(demo_options());
  const std::array<ChatMessage, 4> messages{
      {{"system", "Be brief."}, {"user", "One?"}, {"assistant", "<think>\nhm\n</think>\n\nYes."}, {"user", "Two?"}}};
  const auto prompt = pair->render(messages, true);
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->text,
            "<|im_start|>system\nBe "
            "brief.<|im_end|>\n<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n"
            "<|im_start|>user\nTwo?<|im_end|>\n<|im_start|>assistant\n");  // earlier thoughts are left out, as trained
  EXPECT_EQ(prompt->state, PromptState::before_thinking);
}

TEST(Chat, RefusesMessagesThatCannotBeRendered) {
  const auto pair = load(demo_options());
  const std::array<ChatMessage, 1> bad{{{"user", "\xff\xfe"}}}, nameless{{{"", "x"}}};
  for (const std::span<const ChatMessage> messages :
       {std::span<const ChatMessage>(), std::span<const ChatMessage>(bad), std::span<const ChatMessage>(nameless)}) {
    const auto prompt = pair->render(messages, true);
    ASSERT_FALSE(prompt);
    EXPECT_EQ(prompt.error().kind, ErrorKind::bad_input);
  }
}

TEST(Chat, ATemplateMayOpenTheThought) {
  const TempFolder folder;
  const std::string source =
      "{% for message in messages %}{% if message.role == 'user' %}{{ '<|im_start|>user\n' + message.content + "
      "'<|im_end|>\n' }}"
      "{% else %}{{ '<|im_start|>assistant\n' + message.content.split('</think>')[-1] + '<|im_end|>\n' }}{% endif %}{% "
      "endfor %}"
      "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}";
  const auto pair = with_template(folder, source);
  const std::array<ChatMessage, 1> messages{{{"user", "One?"}}};
  const auto prompt = pair->render(messages, true);
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_TRUE(prompt->text.ends_with("<think>\n")) << prompt->text;
  EXPECT_EQ(prompt->tags, kThinkTags);
  EXPECT_EQ(prompt->state, PromptState::thinking);
}

TEST(Chat, TheDeepSeekTemplateOpensTheThought) {
  const std::string file =
      RELAYGEN_SOURCE_DIR "/.deps/llama.cpp/models/templates/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "llama.cpp's own templates are not there";
  const TempFolder folder;
  const auto pair = with_template(folder, test::read_bytes(file));
  const std::array<ChatMessage, 1> messages{{{"user", "One?"}}};
  const auto prompt = pair->render(messages, true);
  ASSERT_TRUE(prompt) << prompt.error().message;
  EXPECT_TRUE(prompt->text.ends_with("<｜User｜>One?<｜Assistant｜><think>\n")) << prompt->text;
  EXPECT_EQ(prompt->tags, kThinkTags);
  EXPECT_EQ(prompt->state, PromptState::thinking);
}

TEST(Chat, ATemplateWithoutThinkingHasNoTags) {
  const TempFolder folder;
  const auto pair = with_template(folder, kChatml);
  const std::array<ChatMessage, 1> messages{{{"user", "One?"}}};
  for (const bool enable_thinking : {true, false}) {
    const auto prompt = pair->render(messages, enable_thinking);
    ASSERT_TRUE(prompt);
    EXPECT_EQ(prompt->tags, ThinkingTags{});
    EXPECT_EQ(prompt->text, "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n");
  }
}

TEST(Chat, AModelWithoutTemplateUsesChatmlAndItsSpecialTokens) {
  const TempFolder folder;
  const auto pair = with_template(folder, "");
  EXPECT_FALSE(pair->info().large.has_chat_template);
  EXPECT_TRUE(pair->info().same_chat_template);
  const std::array<ChatMessage, 1> messages{{{"user", "One?"}}};
  const auto prompt = pair->render(messages, true);
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->text, "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompt->tags, kThinkTags);
  EXPECT_EQ(prompt->state, PromptState::before_thinking);
}

TEST(Chat, ABeginOfTextTokenIsThereExactlyOnce) {
  for (const std::string prefix : {"", "{{ bos_token }}"}) {  // the template writes it, or leaves it to the tokenizer
    const TempFolder folder;
    const auto pair = with_template(folder, prefix + kChatml, {.edit = [](gguf_context* gguf) {
                                      gguf_set_val_bool(gguf, "tokenizer.ggml.add_bos_token", true);
                                      gguf_set_val_u32(gguf, "tokenizer.ggml.bos_token_id", 759);
                                    }});
    const std::array<ChatMessage, 1> messages{{{"system", "Two."}}};
    const auto prompt = pair->render(messages, true);
    ASSERT_TRUE(prompt) << prompt.error().message;
    EXPECT_EQ(prompt->tokens.front(), 759);
    EXPECT_EQ(joined(*pair, prompt->tokens), prompt->text);
  }
}

TEST(Chat, ATemplateThatFailsIsAnError) {
  const TempFolder folder;
  const auto pair = with_template(
      folder,
      std::string("{% if messages|length > 1 %}{{ raise_exception('One message only.') }}{% endif %}") + kChatml);
  const std::array<ChatMessage, 2> messages{{{"user", "One?"}, {"user", "Two?"}}};
  EXPECT_TRUE(pair->render(std::span(messages).first(1), true));
  const auto prompt = pair->render(messages, true);
  ASSERT_FALSE(prompt);
  EXPECT_EQ(prompt.error().kind, ErrorKind::bad_input);
  EXPECT_NE(prompt.error().message.find("One message only"), std::string::npos) << prompt.error().message;
}

TEST(Chat, ATemplateThatCannotBeParsedIsABadModel) {
  const TempFolder folder;
  PairOptions options = demo_options();
  options.large.path = folder.file("large.gguf");
  test::write_variant(demo(Model::large), options.large.path, {.edit = [](gguf_context* gguf) {
                        gguf_set_val_str(gguf, "tokenizer.chat_template",
                                         "{% for message in messages %}{{ message.content }");
                      }});
  const auto pair = Pair::load(options);
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().kind, ErrorKind::bad_model);
  EXPECT_NE(pair.error().message.find("chat template"), std::string::npos) << pair.error().message;
}

}  // namespace
}  // namespace relaygen
