#include "calibrate/scores.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "relaygen/sampling.h"

namespace relaygen::calibrate {
namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::size_t at(Measure measure) { return static_cast<std::size_t>(measure); }

// The middle 95% of some values.
Interval around(double value, std::vector<double>& resampled) {
  std::ranges::sort(resampled);
  const auto n = static_cast<double>(resampled.size());
  const auto pick = [&](double part) {
    const auto index = static_cast<std::size_t>(std::clamp(std::floor(part * n), 0.0, n - 1));
    return resampled[index];
  };
  return {value, pick(0.025), pick(0.975)};
}

double share_not_above_zero(const std::vector<double>& resampled) {
  const auto below = std::ranges::count_if(resampled, [](double x) { return x <= 0; });
  return static_cast<double>(below + 1) / static_cast<double>(resampled.size() + 1);
}

}  // namespace

std::string_view name(Measure measure) {
  switch (measure) {
    case Measure::small_margin: return "small_margin";
    case Measure::large_margin: return "large_margin";
    case Measure::agreement: return "agreement";
    case Measure::large_logprob: return "large_logprob";
    case Measure::refused: return "refused";
  }
  return "?";
}

void Scoring::Cell::add(const Cell& other, double weight) {
  const auto sum = [&](double& into, double from) { into += weight * from; };
  sum(segments, other.segments);
  sum(tokens, other.tokens);
  sum(safe, other.safe);
  sum(paired_segments, other.paired_segments);
  sum(paired_tokens, other.paired_tokens);
  sum(paired_safe, other.paired_safe);
  sum(matched_safe, other.matched_safe);
  sum(after_margin, other.after_margin);
  sum(after_tokens, other.after_tokens);
  sum(other_margin, other.other_margin);
  sum(other_tokens, other.other_tokens);
  sum(traces, other.traces);
  for (std::size_t i = 0; i < kMeasures; ++i) {
    sum(sums[i], other.sums[i]);
    sum(paired_sums[i], other.paired_sums[i]);
    sum(matched_sums[i], other.matched_sums[i]);
  }
}

Scoring::Piece Scoring::piece_of(const Extent& extent, Stretch where, const Opinions& small,
                                 const Opinions& large) const {
  Piece piece{.position = ratio(where.first - extent.first_thinking, extent.last_thinking - extent.first_thinking),
              .tokens = static_cast<double>(where.size()),
              .where = where};
  for (std::uint32_t i = where.first; i < where.last; ++i) {
    piece.sums[at(Measure::small_margin)] += static_cast<double>(small.margin[i]);
    if (large.margin.empty()) continue;
    piece.sums[at(Measure::large_margin)] += static_cast<double>(large.margin[i]);
    const auto logprob = static_cast<double>(large.of_asked[i]);
    piece.sums[at(Measure::large_logprob)] += logprob;
    piece.sums[at(Measure::refused)] += is_refused(logprob, static_cast<double>(large.entropy[i]), options_.typical);
  }
  return piece;
}

Scoring::Cell& Scoring::cell(std::uint32_t cue, std::uint32_t problem) {
  auto& cells = cells_[cue];
  if (cells.empty() || cells.back().problem != problem) cells.push_back({.problem = problem});
  return cells.back();
}

void Scoring::add_published(std::uint32_t problem, const Extent& extent, std::span<const Occurrence> occurrences,
                            const Opinions& small) {
  double whole = 0;
  for (std::uint32_t i = extent.first_thinking; i < extent.last_thinking; ++i)
    whole += static_cast<double>(small.margin[i]);
  struct After {
    double margin = 0, tokens = 0;
    std::uint32_t end = 0;
  };
  std::map<std::uint32_t, After> after;
  for (const Occurrence& one : occurrences) {
    After& sum = after[one.cue];
    for (std::uint32_t i = std::max(one.after.first, sum.end); i < one.after.last; ++i) {
      sum.margin += static_cast<double>(small.margin[i]);
      sum.tokens += 1;
    }
    sum.end = std::max(sum.end, one.after.last);
  }
  for (const auto& [cue, sum] : after) {
    Cell& to = cell(cue, problem);
    to.traces += 1;
    to.after_margin += sum.margin;
    to.after_tokens += sum.tokens;
    to.other_margin += whole - sum.margin;
    to.other_tokens += (extent.last_thinking - extent.first_thinking) - sum.tokens;
  }
}

void Scoring::add(std::uint32_t problem, const Trace& trace, const Extent& extent,
                  std::span<const Occurrence> occurrences, std::span<const Stretch> sentences, const Opinions& small,
                  const Opinions& large) {
  if (problem != problem_) finish_problem();
  problem_ = problem;
  ++trace_;
  judged_ = judged_ && !large.margin.empty();
  const auto agreed = [&](Piece& piece) {
    for (std::uint32_t i = piece.where.first; i < piece.where.last; ++i)
      piece.sums[at(Measure::agreement)] += small.top[i] == trace.tokens[i];
  };
  for (const Occurrence& one : occurrences) {
    Piece piece = piece_of(extent, one.after, small, large);
    agreed(piece);
    piece.cue = one.cue;
    piece.trace = trace_;
    pieces_.push_back(piece);
  }
  for (const Stretch& one : sentences) {
    Piece piece = piece_of(extent, one, small, large);
    agreed(piece);
    piece.trace = trace_;
    sentences_.push_back(piece);
  }
  add_published(problem, extent, occurrences, small);
}

// Sets each piece beside the comparable sentences of the problem, those left aside in which the piece itself or another
// one behind the same candidate stands.
void Scoring::finish_problem() {
  // The candidates behind which a sentence stands. Pieces and sentences are in the order of traces and tokens, and a
  // piece is no longer than what is left of its sentence.
  std::vector<std::vector<std::uint32_t>> behind(sentences_.size());
  for (std::size_t i = 0, from = 0; i < sentences_.size(); ++i) {
    const Piece& sentence = sentences_[i];
    while (from < pieces_.size() &&
           (pieces_[from].trace < sentence.trace ||
            (pieces_[from].trace == sentence.trace && pieces_[from].where.last <= sentence.where.first)))
      ++from;
    for (std::size_t j = from; j < pieces_.size(); ++j) {
      if (pieces_[j].trace != sentence.trace || pieces_[j].where.first >= sentence.where.last) break;
      if (pieces_[j].where.last > sentence.where.first) behind[i].push_back(pieces_[j].cue);
    }
  }
  for (const Piece& piece : pieces_) {
    Cell& to = cell(piece.cue, problem_);
    const double safe = piece.sums[at(Measure::refused)] == 0 ? 1 : 0;
    to.segments += 1;
    to.tokens += piece.tokens;
    to.safe += safe;
    for (std::size_t i = 0; i < kMeasures; ++i) to.sums[i] += piece.sums[i];

    Piece pool;
    double count = 0, pool_safe = 0;
    for (std::size_t i = 0; i < sentences_.size(); ++i) {
      const Piece& sentence = sentences_[i];
      if (std::abs(sentence.position - piece.position) > options_.position_window) continue;
      const double longer = sentence.tokens / piece.tokens;
      if (longer > options_.length_ratio || longer * options_.length_ratio < 1) continue;
      if (std::ranges::find(behind[i], piece.cue) != behind[i].end()) continue;
      count += 1;
      pool.tokens += sentence.tokens;
      pool_safe += sentence.sums[at(Measure::refused)] == 0;
      for (std::size_t k = 0; k < kMeasures; ++k) pool.sums[k] += sentence.sums[k];
    }
    if (count == 0) continue;
    to.paired_segments += 1;
    to.paired_tokens += piece.tokens;
    to.paired_safe += safe;
    to.matched_safe += pool_safe / count;
    for (std::size_t i = 0; i < kMeasures; ++i) {
      to.paired_sums[i] += piece.sums[i];
      to.matched_sums[i] += piece.tokens * pool.sums[i] / pool.tokens;
    }
  }
  pieces_.clear();
  sentences_.clear();
}

CueScore Scoring::score_of(std::uint32_t cue, const std::vector<Cell>& cells) const {
  struct Values {
    double published, safe_against;
    std::array<double, kMeasures> behind, against;
  };
  const auto values_of = [](const Cell& all) {
    Values values{};
    values.published = ratio(all.after_margin, all.after_tokens) - ratio(all.other_margin, all.other_tokens);
    values.safe_against = ratio(all.paired_safe - all.matched_safe, all.paired_segments);
    for (std::size_t i = 0; i < kMeasures; ++i) {
      values.behind[i] = ratio(all.sums[i], all.tokens);
      values.against[i] = ratio(all.paired_sums[i] - all.matched_sums[i], all.paired_tokens);
    }
    return values;
  };

  Cell whole;
  for (const Cell& one : cells) whole.add(one, 1);
  const Values values = values_of(whole);

  std::vector<double> published, safe_against;
  std::array<std::vector<double>, kMeasures> behind, against;
  const Noise noise(options_.seed, NoiseStream::evaluation);
  std::vector<std::uint32_t> weights(cells.size());
  const auto n = static_cast<double>(cells.size());
  for (std::uint32_t resample = 0; resample < options_.resamples; ++resample) {
    std::ranges::fill(weights, 0U);
    for (std::size_t i = 0; i < cells.size(); ++i)
      ++weights[std::min(cells.size() - 1, static_cast<std::size_t>(noise.uniform(resample, i) * n))];
    Cell drawn;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (weights[i] > 0) drawn.add(cells[i], weights[i]);
    }
    const Values again = values_of(drawn);
    published.push_back(again.published);
    safe_against.push_back(again.safe_against);
    for (std::size_t i = 0; i < kMeasures; ++i) {
      behind[i].push_back(again.behind[i]);
      against[i].push_back(again.against[i]);
    }
  }

  CueScore score{.cue = cue,
                 .count = static_cast<std::uint32_t>(whole.segments),
                 .problems = static_cast<std::uint32_t>(cells.size()),
                 .traces = static_cast<std::uint32_t>(whole.traces),
                 .tokens = static_cast<std::uint64_t>(whole.tokens),
                 .judged = judged_,
                 .published = around(values.published, published),
                 .p_published = share_not_above_zero(published),
                 .safe_against = around(values.safe_against, safe_against)};
  std::vector<QuestionResult> safe;
  for (const Cell& one : cells)
    safe.push_back(
        {.right = static_cast<std::uint32_t>(one.safe), .samples = static_cast<std::uint32_t>(one.segments)});
  const auto share = accuracy(safe);
  score.safe = {share.value, share.low, share.high};
  score.p_safe = p_not_above(safe, options_.min_safe);
  for (std::size_t i = 0; i < kMeasures; ++i) {
    score.behind[i] = around(values.behind[i], behind[i]);
    score.against[i] = around(values.against[i], against[i]);
  }
  return score;
}

std::vector<CueScore> Scoring::scores() {
  finish_problem();
  std::vector<CueScore> scores;
  for (const auto& [cue, cells] : cells_) scores.push_back(score_of(cue, cells));
  return scores;
}

}  // namespace relaygen::calibrate
