#include "engine/fake/fake_engine.h"

#include <algorithm>

namespace relaygen {

std::string_view FakeVocabulary::piece(TokenId token) const noexcept {
  if (token < 0 || token >= size()) return {};
  return pieces_[static_cast<std::size_t>(token)];
}

bool FakeVocabulary::ends_generation(TokenId token) const noexcept {
  return std::find(end_of_generation_.begin(), end_of_generation_.end(), token) != end_of_generation_.end();
}

Result<std::vector<TokenId>> FakeVocabulary::tokenize(std::string_view text) const {
  std::vector<TokenId> tokens;
  while (!text.empty()) {
    TokenId best = -1;
    std::size_t length = 0;
    for (TokenId id = 0; id < size(); ++id) {
      const std::string_view candidate = piece(id);
      if (candidate.size() > length && text.starts_with(candidate)) {
        best = id;
        length = candidate.size();
      }
    }
    if (best < 0)
      return fail(ErrorKind::bad_input,
                  "the scripted vocabulary has no token for '" + std::string(text.substr(0, 8)) + "'");
    tokens.push_back(best);
    text.remove_prefix(length);
  }
  return tokens;
}

TokenId FakeVocabulary::id(std::string_view piece) const {
  return static_cast<TokenId>(std::find(pieces_.begin(), pieces_.end(), piece) - pieces_.begin());
}

std::int32_t FakeEngine::cached(Model model) const noexcept {
  return static_cast<std::int32_t>(cache_[static_cast<std::size_t>(model)].size());
}

std::int32_t FakeEngine::truncate(Model model, std::int32_t length) {
  auto& cache = cache_[static_cast<std::size_t>(model)];
  if (length < cached(model)) cache.resize(options_.limits.can_cut ? static_cast<std::size_t>(length) : 0);
  return cached(model);
}

Result<LogitRows> FakeEngine::decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) {
  const auto index = static_cast<std::size_t>(model);
  auto& cache = cache_[index];
  const int code = options_.faults ? options_.faults(decodes_) : 0;
  ++decodes_;
  const auto rows = static_cast<std::int32_t>(tokens.size());
  if (rows < 1 || rows > options_.limits.batch || output_rows < 0 ||
      output_rows > std::min(rows, options_.limits.output_rows)) {
    return fail(ErrorKind::internal, "a decode outside the engine's limits");
  }
  if (code == 1 || cached(model) + rows > options_.limits.window) {
    return fail(ErrorKind::no_cache_slot, "the " + std::string(name(model)) + " model's cache is full");
  }
  if (code == 2 || code < -1) {
    cache.insert(cache.end(), tokens.begin(), tokens.begin() + rows / 2);
    return code == 2 ? fail(ErrorKind::cancelled, "the decode was aborted")
                     : fail(ErrorKind::decode_failed, "the decode failed");
  }
  if (code != 0) return fail(ErrorKind::decode_failed, "the batch is invalid");

  rows_[index] += tokens.size();
  auto& logits = logits_[index];
  logits.resize(static_cast<std::size_t>(output_rows));
  auto& views = views_[index];
  views.clear();
  for (std::int32_t i = 0; i < rows; ++i) {
    cache.push_back(tokens[static_cast<std::size_t>(i)]);
    const std::int32_t row = i - (rows - output_rows);
    if (row < 0) continue;
    auto& values = logits[static_cast<std::size_t>(row)];
    values.assign(static_cast<std::size_t>(vocabulary_.size()), 0.0F);
    options_.model(model, cache, values);
    views.emplace_back(values);
  }
  return LogitRows(views);
}

}  // namespace relaygen
