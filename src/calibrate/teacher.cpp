#include "calibrate/teacher.h"

#include <algorithm>

#include "core/softmax.h"

namespace relaygen::calibrate {
namespace {

void note(std::span<const float> logits, TokenId token, const TokenId* asked, Opinions& opinions) {
  const RowSummary summary = summarize(logits);
  const auto top = std::ranges::find(logits, largest(logits)) - logits.begin();
  opinions.margin.push_back(summary.margin);
  opinions.logprob.push_back(logits[static_cast<std::size_t>(token)] - summary.log_sum);
  opinions.entropy.push_back(entropy(logits, summary.log_sum));
  opinions.top.push_back(static_cast<TokenId>(std::min<std::ptrdiff_t>(top, std::ssize(logits) - 1)));
  if (asked != nullptr) opinions.of_asked.push_back(logits[static_cast<std::size_t>(*asked)] - summary.log_sum);
}

}  // namespace

Result<Opinions> opinions_of(Engine& engine, Model model, std::span<const TokenId> prompt,
                             std::span<const TokenId> tokens, std::span<const TokenId> asked,
                             const std::atomic<bool>& cancel) {
  Opinions opinions;
  if (tokens.empty()) return opinions;
  engine.set_owner(0);
  engine.truncate(model, 0);
  const auto stopped = [] { return fail(ErrorKind::cancelled, "The calibration was stopped"); };

  // The last token of the prompt predicts the first of the text, and the last of the text nothing that is wanted.
  std::span<const TokenId> unread = prompt.first(prompt.size() - 1);
  const auto most = static_cast<std::size_t>(engine.limits().batch);
  while (!unread.empty()) {
    if (cancel.load()) return stopped();
    const auto batch = unread.first(std::min(most, unread.size()));
    if (auto read = engine.decode(model, batch, 0); !read) return tl::unexpected(read.error());
    unread = unread.subspan(batch.size());
  }

  const auto rows = static_cast<std::size_t>(std::min(engine.limits().output_rows, engine.limits().batch));
  std::vector<TokenId> batch;
  for (std::size_t next = 0; next < tokens.size(); next += batch.size()) {
    if (cancel.load()) return stopped();
    const std::size_t count = std::min(rows, tokens.size() - next);
    batch.assign(1, next == 0 ? prompt.back() : tokens[next - 1]);
    batch.insert(batch.end(), tokens.begin() + static_cast<std::ptrdiff_t>(next),
                 tokens.begin() + static_cast<std::ptrdiff_t>(next + count - 1));
    const auto logits = engine.decode(model, batch, static_cast<std::int32_t>(count));
    if (!logits) return tl::unexpected(logits.error());
    for (std::size_t row = 0; row < count; ++row)
      note((*logits)[row], tokens[next + row], asked.empty() ? nullptr : &asked[next + row], opinions);
  }
  return opinions;
}

}  // namespace relaygen::calibrate
