#include "engine/llama/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/unicode.h"
#include "engine/llama/guard.h"
#include "engine/llama/text.h"

namespace relaygen::engine {
namespace {

constexpr const char* kTakeFamily =
    "take both models from one family (for example Qwen3 32B with Qwen3 1.7B), converted to GGUF by similar versions";

/// The kind of a token, without flags that only steer white space while tokenizing.
unsigned kind(const llama_vocab* vocab, TokenId token) {
  constexpr unsigned kKinds = LLAMA_TOKEN_ATTR_UNKNOWN | LLAMA_TOKEN_ATTR_UNUSED | LLAMA_TOKEN_ATTR_NORMAL |
                              LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED | LLAMA_TOKEN_ATTR_BYTE;
  return static_cast<unsigned>(llama_vocab_get_attr(vocab, token)) & kKinds;
}

const char* kind_name(unsigned kind) {
  if (kind & LLAMA_TOKEN_ATTR_UNUSED) return "unused";
  if (kind & LLAMA_TOKEN_ATTR_CONTROL) return "control";
  if (kind & LLAMA_TOKEN_ATTR_USER_DEFINED) return "user-defined";
  if (kind & LLAMA_TOKEN_ATTR_BYTE) return "byte";
  if (kind & LLAMA_TOKEN_ATTR_UNKNOWN) return "unknown";
  return "normal";
}

const char* type_name(enum llama_vocab_type type) {
  switch (type) {
    case LLAMA_VOCAB_TYPE_NONE: return "none";
    case LLAMA_VOCAB_TYPE_SPM: return "SentencePiece";
    case LLAMA_VOCAB_TYPE_BPE: return "byte-pair encoding";
    case LLAMA_VOCAB_TYPE_WPM: return "WordPiece";
    case LLAMA_VOCAB_TYPE_UGM: return "unigram";
    case LLAMA_VOCAB_TYPE_RWKV: return "RWKV";
    case LLAMA_VOCAB_TYPE_PLAMO2: return "PLaMo-2";
  }
  return "another";
}

std::string_view text_of(const llama_vocab* vocab, TokenId token) {
  const char* text = llama_vocab_get_text(vocab, token);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool is_padding(const llama_vocab* vocab, TokenId token) {
  return (kind(vocab, token) & LLAMA_TOKEN_ATTR_UNUSED) != 0 || text_of(vocab, token).starts_with("[PAD");
}

tl::unexpected<Error> mismatch(std::string message) {
  return fail(ErrorKind::pair_mismatch, std::move(message), kTakeFamily);
}

/// What differs at `token`, for a person; empty if nothing does.
std::string difference(const llama_vocab* large, const llama_vocab* small, TokenId token) {
  const std::string_view a = text_of(large, token), b = text_of(small, token);
  if (a != b) return fmt::format("is {} in the large one and {} in the small one", printable(a), printable(b));
  if (const unsigned ka = kind(large, token), kb = kind(small, token); ka != kb) {
    return fmt::format("({}) is a {} token in the large one and a {} token in the small one", printable(a),
                       kind_name(ka), kind_name(kb));
  }
  if (const bool ends = llama_vocab_is_eog(large, token); ends != llama_vocab_is_eog(small, token)) {
    return fmt::format("({}) ends the text only in the {} one", printable(a), ends ? "large" : "small");
  }
  return {};
}

}  // namespace

Result<std::int32_t> shared_vocabulary(const llama_vocab* large, const llama_vocab* small) {
  constexpr std::string_view kNotOne = "The two models do not share one vocabulary: ";
  const auto large_type = llama_vocab_type(large), small_type = llama_vocab_type(small);
  if (large_type == LLAMA_VOCAB_TYPE_NONE || small_type == LLAMA_VOCAB_TYPE_NONE) {
    return mismatch(
        fmt::format("The {} model has no vocabulary", large_type == LLAMA_VOCAB_TYPE_NONE ? "large" : "small"));
  }
  if (large_type != small_type) {
    return mismatch(fmt::format("{}the large one uses {}, the small one {}", kNotOne, type_name(large_type),
                                type_name(small_type)));
  }
  const std::int32_t large_size = llama_vocab_n_tokens(large), small_size = llama_vocab_n_tokens(small);
  const std::int32_t shared = std::min(large_size, small_size);
  for (TokenId token = 0; token < shared; ++token) {
    if (const std::string what = difference(large, small, token); !what.empty()) {
      return mismatch(fmt::format("{}token {} {}", kNotOne, token, what));
    }
  }
  const bool more_in_large = large_size > small_size;
  const llama_vocab* longer = more_in_large ? large : small;
  for (TokenId token = shared; token < std::max(large_size, small_size); ++token) {
    if (token - shared < kPaddingIds && is_padding(longer, token)) continue;
    return mismatch(fmt::format("{}token {} is {} in the {} one and the other ({} tokens) has none", kNotOne, token,
                                printable(text_of(longer, token)), more_in_large ? "large" : "small", shared));
  }
  // A begin-of-text token matters only where it is used.
  if (llama_vocab_get_add_bos(large) && llama_vocab_get_add_bos(small) &&
      llama_vocab_bos(large) != llama_vocab_bos(small)) {
    return mismatch(fmt::format("{}texts begin with token {} in the large one and {} in the small one", kNotOne,
                                llama_vocab_bos(large), llama_vocab_bos(small)));
  }
  return shared;
}

std::string vocabulary_hash(const llama_vocab* vocab, std::int32_t size) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3ull; };
  for (TokenId token = 0; token < size; ++token) {
    for (const char c : text_of(vocab, token)) add(static_cast<unsigned char>(c));
    add(0);  // no token's text contains it
    add(static_cast<unsigned char>(kind(vocab, token)));
    add(llama_vocab_is_eog(vocab, token) ? 1 : 0);
  }
  return fmt::format("{:016x}", hash);
}

LlamaVocabulary::LlamaVocabulary(const llama_vocab* vocab, std::int32_t size) : vocab_(vocab), size_(size) {
  begin_.reserve(static_cast<std::size_t>(size) + 1);
  ends_.reserve(static_cast<std::size_t>(size));
  std::vector<char> buffer(256);
  for (TokenId token = 0; token < size; ++token) {
    begin_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    auto room = static_cast<std::int32_t>(buffer.size());
    std::int32_t length = llama_token_to_piece(vocab, token, buffer.data(), room, 0, true);
    if (length < 0) {  // too long for the buffer: minus the length that it needs
      buffer.resize(static_cast<std::size_t>(-length));
      length = llama_token_to_piece(vocab, token, buffer.data(), -length, 0, true);
    }
    if (length > 0) bytes_.append(buffer.data(), static_cast<std::size_t>(length));
    ends_.push_back(llama_vocab_is_eog(vocab, token));
  }
  begin_.push_back(static_cast<std::uint32_t>(bytes_.size()));
}

std::string_view LlamaVocabulary::piece(TokenId token) const noexcept {
  if (!known(token)) return {};
  const auto at = static_cast<std::size_t>(token);
  return std::string_view(bytes_).substr(begin_[at], begin_[at + 1] - begin_[at]);
}

bool LlamaVocabulary::ends_generation(TokenId token) const noexcept {
  return known(token) && ends_[static_cast<std::size_t>(token)];
}

Result<std::vector<TokenId>> LlamaVocabulary::tokenize(std::string_view text) const {
  return guarded("tokenizing a text", [&]() -> Result<std::vector<TokenId>> {
    if (text.empty()) return std::vector<TokenId>{};
    if (!unicode::is_utf8(text))
      return fail(ErrorKind::bad_input, "The text is not UTF-8", "convert it, for example with iconv");
    constexpr std::size_t kLongest = std::numeric_limits<std::int32_t>::max() / 4;
    if (text.size() > kLongest)
      return fail(ErrorKind::bad_input, "The text has more than 500 MB", "give a shorter one");
    const auto bytes = static_cast<std::int32_t>(text.size());
    // A token has at least one byte, but a tokenizer may add a space or two.
    std::vector<TokenId> tokens(text.size() + 8);
    const auto room = static_cast<std::int32_t>(tokens.size());
    std::int32_t count = llama_tokenize(vocab_, text.data(), bytes, tokens.data(), room, false, true);
    if (count < 0 && count != std::numeric_limits<std::int32_t>::min()) {
      tokens.resize(static_cast<std::size_t>(-count));
      count = llama_tokenize(vocab_, text.data(), bytes, tokens.data(), -count, false, true);
    }
    if (count < 0) return fail(ErrorKind::bad_input, "The text could not be tokenized", "give a shorter one");
    tokens.resize(static_cast<std::size_t>(count));
    tokens.shrink_to_fit();
    for (const TokenId token : tokens) {
      if (!known(token)) {
        return fail(ErrorKind::bad_input,
                    fmt::format("The text contains token {}, which the small model does not know", token),
                    "leave the text of unused tokens out");
      }
    }
    return tokens;
  });
}

}  // namespace relaygen::engine
