#include "bench/engines.h"

#include <algorithm>

namespace relaygen::bench {
namespace {

constexpr float kCertain = 40;  // logits beside 0: all other tokens together have less than e^-28

}  // namespace

void RecordingEngine::start(std::size_t prompt_tokens) {
  prompt_tokens_ = prompt_tokens;
  schedule_.clear();
  seconds_.clear();
}

Result<LogitRows> RecordingEngine::decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) {
  const std::int32_t depth = inner_.cached(model);
  const double begin = clock_();
  auto result = inner_.decode(model, tokens, output_rows);
  const double spent = clock_() - begin;
  if (result) {
    const auto rows = static_cast<std::int32_t>(tokens.size());
    schedule_.push_back({model, part_of(model, rows, output_rows, depth, static_cast<std::int64_t>(prompt_tokens_)),
                         rows, depth, output_rows});
    seconds_.push_back(spent);
  }
  return result;
}

Status ReplayEngine::set_text(std::vector<TokenId> tokens) {
  const Vocabulary& words = vocabulary();
  for (TokenId id = 0; !end_ && id < words.size(); ++id) {
    if (words.ends_generation(id)) end_ = id;
  }
  if (!end_) {
    return fail(ErrorKind::bad_input, "this vocabulary has no token that ends a text, so none can be replayed",
                "use models whose vocabulary has one");
  }
  text_ = std::move(tokens);
  mistakes_.clear();
  const auto other = words.tokenize(" a");
  other_ = other && !other->empty() ? other->front() : 0;
  return std::monostate{};
}

Result<LogitRows> ReplayEngine::decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) {
  auto result = inner_.decode(model, tokens, output_rows);
  if (!result) return result;
  std::vector<Row>& rows = rows_[static_cast<std::size_t>(model)];
  const auto wanted = static_cast<std::size_t>(output_rows);
  const auto width = static_cast<std::size_t>(vocabulary().size());
  while (rows.size() < wanted) rows.push_back({std::vector<float>(width, 0.0F), 0});
  auto& views = views_[static_cast<std::size_t>(model)];
  views.clear();
  const auto first = static_cast<std::size_t>(inner_.cached(model)) - wanted;  // position of the first row
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t next = first + i + 1;
    rows[i].logits[rows[i].hot] = 0;
    const bool is_mistaken = model == Model::small && next < mistakes_.size() && mistakes_[next];
    rows[i].hot = static_cast<std::size_t>(next < text_.size() ? text_[next] : *end_);
    if (is_mistaken)
      rows[i].hot = static_cast<std::size_t>(rows[i].hot == static_cast<std::size_t>(other_) ? 0 : other_);
    rows[i].logits[rows[i].hot] = kCertain;
    views.emplace_back(rows[i].logits);
  }
  return LogitRows(views);
}

std::int32_t DryEngine::truncate(Model model, std::int32_t length) {
  auto& held = cached_[static_cast<std::size_t>(model)];
  held = std::min(held, length);
  return held;
}

Result<LogitRows> DryEngine::decode(Model model, std::span<const TokenId> tokens, std::int32_t output_rows) {
  cached_[static_cast<std::size_t>(model)] += static_cast<std::int32_t>(tokens.size());
  rows_.resize(std::max(rows_.size(), static_cast<std::size_t>(output_rows)));
  return LogitRows(std::span(rows_).first(static_cast<std::size_t>(output_rows)));
}

}  // namespace relaygen::bench
