// Scores of candidates: what both models think of the text behind each, beside comparable text, with intervals.
//
// The unit of every interval is the problem: samples of one problem are not independent, and neither are the places of
// one trace. Intervals are percentile bootstrap intervals over problems (resampled with replacement, all their traces
// together), and the draws depend on the seed alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/occurrences.h"
#include "calibrate/trace.h"
#include "relaygen/sampling.h"

namespace relaygen::calibrate {

/// What is measured at each token of a stretch of text, and averaged.
enum class Measure : std::uint8_t {
  small_margin,   ///< margin of the small model
  large_margin,   ///< margin of the large model
  agreement,      ///< 1 where the small model's most likely token is the one that stands there
  large_logprob,  ///< log p under the large model of the small model's most likely token
  refused,        ///< 1 where that token fails the typical criterion under the large model
};
inline constexpr std::size_t kMeasures = 5;
inline constexpr std::array<Measure, kMeasures> kAllMeasures{
    Measure::small_margin, Measure::large_margin, Measure::agreement, Measure::large_logprob, Measure::refused};
[[nodiscard]] std::string_view name(Measure measure);

/// An estimate with its 95% interval.
struct Interval {
  double value = 0, low = 0, high = 0;
};

/// One candidate.
struct CueScore {
  std::uint32_t cue = 0;  ///< index into the CueSet
  std::uint32_t count = 0, problems = 0, traces = 0;
  std::uint64_t tokens = 0;  ///< behind it
  bool judged = true;  ///< a large model was asked; else nothing that follows but margins and agreement means anything

  /// The paper's: mean margin of the small model behind it - the same over all other thinking of the traces in which it
  /// occurs. Each token counts once.
  Interval published{};
  double p_published = 1;  ///< one-sided, that it is not above 0

  std::array<Interval, kMeasures> behind{};  ///< means over the tokens behind it
  /// The same minus that of sentences of the same problem at similar position and length.
  std::array<Interval, kMeasures> against{};

  /// Share of segments in which the large model refuses nothing of what the small model would write: mean over problems,
  /// with the interval of an accuracy (docs/statistics.md), since nearly all or nearly none may be safe.
  Interval safe{};
  double p_safe = 1;        ///< one-sided, that it is not above ScoreOptions::min_safe
  Interval safe_against{};  ///< share of safe segments minus that of comparable sentences
};

struct ScoreOptions {
  std::uint32_t resamples = 2000;
  std::uint64_t seed = 0;
  TypicalCriterion typical{};
  double min_safe = 0.9;         ///< for p_safe
  double position_window = 0.2;  ///< comparable: at most so far away, in parts of the thinking
  double length_ratio = 2.0;     ///< and at most so many times longer or shorter
};

/// Reads traces one after another and keeps some numbers of each sentence. Without the large model's opinions (empty
/// vectors) its measures are 0 and nothing is refused.
class Scoring {
 public:
  explicit Scoring(const ScoreOptions& options) : options_(options) {}

  /// `problem` numbers the problem; all its traces come one after another.
  void add(std::uint32_t problem, const Trace& trace, const Extent& extent, std::span<const Occurrence> occurrences,
           std::span<const Stretch> sentences, const Opinions& small, const Opinions& large);

  /// In the order of cue indices; candidates that did not occur are left out.
  [[nodiscard]] std::vector<CueScore> scores();

 private:
  /// What stands in a stretch of tokens.
  struct Piece {
    double position = 0;  ///< of its first token in the thinking, 0 to 1
    double tokens = 0;
    std::array<double, kMeasures> sums{};
    std::uint32_t cue = 0;
    Stretch where{};
    std::uint32_t trace = 0;
  };
  /// What a problem adds to a candidate. Sums, so that resampling is adding.
  struct Cell {
    std::uint32_t problem = 0;
    double segments = 0, tokens = 0, safe = 0;
    std::array<double, kMeasures> sums{};
    double paired_segments = 0, paired_tokens = 0, paired_safe = 0, matched_safe = 0;
    std::array<double, kMeasures> paired_sums{}, matched_sums{};
    double after_margin = 0, after_tokens = 0, other_margin = 0, other_tokens = 0, traces = 0;
    void add(const Cell& other, double weight);
  };

  [[nodiscard]] Piece piece_of(const Extent& extent, Stretch where, const Opinions& small, const Opinions& large) const;
  void finish_problem();
  [[nodiscard]] CueScore score_of(std::uint32_t cue, const std::vector<Cell>& cells) const;
  Cell& cell(std::uint32_t cue, std::uint32_t problem);
  void add_published(std::uint32_t problem, const Extent& extent, std::span<const Occurrence> occurrences,
                     const Opinions& small);

  ScoreOptions options_;
  std::map<std::uint32_t, std::vector<Cell>> cells_;
  std::uint32_t problem_ = 0, trace_ = 0;
  bool judged_ = true;                     // every trace came with the large model's opinions
  std::vector<Piece> pieces_, sentences_;  // of the problem that is being read
};

}  // namespace relaygen::calibrate
