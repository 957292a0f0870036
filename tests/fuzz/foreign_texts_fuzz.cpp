// Texts to calibrate on, from any bytes: rows become traces whose places are inside them, or an error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/discovery.h"
#include "calibrate/foreign_texts.h"
#include "calibrate/occurrences.h"
#include "core/unicode.h"

using namespace relaygen;
using namespace relaygen::calibrate;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// One token a byte; a token of 0 ends the text.
class Bytes : public Vocabulary {
 public:
  Bytes() {
    for (int i = 0; i < 256; ++i) pieces_.emplace_back(1, static_cast<char>(i));
  }
  [[nodiscard]] std::int32_t size() const noexcept override { return 256; }
  [[nodiscard]] std::string_view piece(TokenId token) const noexcept override {
    return pieces_[static_cast<std::size_t>(token)];
  }
  [[nodiscard]] bool ends_generation(TokenId token) const noexcept override { return token == 0; }
  [[nodiscard]] Result<std::vector<TokenId>> tokenize(std::string_view text) const override {
    std::vector<TokenId> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Bytes vocabulary;
  static const CueSet cues = *CueSet::build(std::vector<Cue>{{"So,"}, {"So "}, {"then"}, {"Now", false}});
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"fuzz.jsonl", "fuzz.csv"}) {
    const auto read = parse_foreign_texts(content, name);
    if (!read) {
      require(read.error().kind == ErrorKind::bad_input && !read.error().message.empty());
      continue;
    }
    Discovery discovery;
    for (const ForeignText& text : read->texts) {
      require(!text.messages.empty() && unicode::is_utf8(text.text));
      for (const PromptState state : {PromptState::before_thinking, PromptState::thinking}) {
        const ChatPrompt prompt{.text = "", .tokens = {1}, .tags = {"<think>", {"</think>"}}, .state = state};
        const auto trace = trace_of(text, vocabulary, prompt, 0);
        require(trace.has_value());
        const Extent extent = extent_of(*trace, prompt.tags);
        require(extent.first_thinking <= extent.last_thinking && extent.last_thinking <= trace->tokens.size());
        std::uint32_t before = 0;
        for (const Occurrence& one : find_occurrences(*trace, extent, cues, 8)) {
          require(one.after.first >= before && one.after.first < one.after.last &&
                  one.after.last <= extent.last_thinking);
          before = one.after.first;
        }
        std::uint32_t end = extent.first_thinking;
        for (const Stretch& one : sentence_tails(*trace, extent, Rules::exact)) {
          require(one.first >= end && one.first < one.last);
          end = one.last;
        }
        discovery.add(
            std::string_view(trace->text).substr(extent.thinking_begin, extent.thinking_end - extent.thinking_begin),
            0);
      }
    }
    for (const auto& found : discovery.frequent(1, 1, 1000)) require(unicode::is_utf8(found.text));
  }
  return 0;
}
