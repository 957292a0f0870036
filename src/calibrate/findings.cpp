#include "calibrate/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/statistics.h"
#include "core/unicode.h"
#include "relaygen/sampling.h"

namespace relaygen::calibrate {
namespace {

constexpr double kOwnTokensThatMayFail = 0.01;
constexpr double kAcceptedTokensThatMayStop = 0.05;
constexpr std::size_t kFewTokens = 200;        // for a quantile
constexpr std::size_t kLongestExample = 1500;  // tokens
constexpr std::uint32_t kResamples = 1000;

// A sum over the traces of one problem, divided by another.
struct Part {
  double part = 0, whole = 0;
};

// A ratio of sums with a bootstrap interval over problems.
Interval ratio_of(const std::vector<Part>& parts, std::uint64_t seed) {
  const auto ratio = [](const Part& sum) { return sum.whole > 0 ? sum.part / sum.whole : 0; };
  Part all;
  for (const Part& one : parts) all = {all.part + one.part, all.whole + one.whole};
  std::vector<double> again;
  const Noise noise(seed, NoiseStream::evaluation);
  for (std::uint32_t resample = 0; resample < kResamples && !parts.empty(); ++resample) {
    Part drawn;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto pick = std::min(
          parts.size() - 1, static_cast<std::size_t>(noise.uniform(resample, i) * static_cast<double>(parts.size())));
      drawn = {drawn.part + parts[pick].part, drawn.whole + parts[pick].whole};
    }
    again.push_back(ratio(drawn));
  }
  if (again.empty()) return {};
  std::ranges::sort(again);
  const auto at = [&](double share) {
    return again[static_cast<std::size_t>(share * static_cast<double>(again.size() - 1))];
  };
  return {ratio(all), at(0.025), at(0.975)};
}

// The value below which so large a share of the values lies.
double quantile(std::vector<double>& values, double share) {
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(index));
  return values[index];
}

// Bytes up to the beginning of a character that is not complete.
std::size_t whole_characters(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto size = unicode::decode(text.substr(at)).size;
    if (size == 0) break;
    at += size;
  }
  return at;
}

void count(Histogram& histogram, float margin) {
  const auto bin = static_cast<std::size_t>(std::clamp(margin, 0.0F, 1.0F) * static_cast<float>(kMarginBins));
  ++histogram[std::min(bin, kMarginBins - 1)];
}

// One pass over all traces with their opinions.
class Reader {
 public:
  Reader(const Store& store, const Analysis& analysis, const CueSet& cues)
      : store_(store), analysis_(analysis), cues_(cues) {
    const auto in = [&](Split split) { return std::ranges::count(analysis.splits, split) > 0; };
    findings.apart = in(Split::report) && in(Split::thresholds);
    for (const auto& one : analysis.candidates) selected_.push_back(one.selected());
    findings.cue_margins.resize(analysis.candidates.size());
    for (std::uint32_t i = 0; i < analysis.problems.size(); ++i) index_[analysis.problems[i].id] = i;
    order_ = best_first(analysis, [](const Candidate& one) { return one.decision != Decision::rare; });
    step_tokens_.resize(order_.size());
  }

  Status read(const Trace& trace) {
    const std::uint32_t problem = index_.at(trace.key.problem);
    const Extent extent = extent_of(trace, analysis_.options.tags);
    const auto small = store_.opinions(trace.key, Model::small);
    if (!small) return tl::unexpected(small.error());
    if (small->margin.size() != trace.tokens.size() || extent.first_thinking >= extent.last_thinking)
      return std::monostate{};
    const auto large = store_.opinions(trace.key, Model::large);
    if (!large) return tl::unexpected(large.error());
    if (!large->margin.empty() && large->margin.size() != trace.tokens.size()) return std::monostate{};
    const auto found = find_occurrences(trace, extent, cues_, analysis_.options.max_small_tokens);
    const Split split = analysis_.splits[problem];
    if (split == Split::selection) add_margins(trace, extent, found, *small);
    if (!findings.apart || split == Split::thresholds) add_thresholds(trace, extent, found, *small, *large);
    if (!findings.apart || split == Split::report) add_handover(problem, trace, extent, found, *small, *large);
    return std::monostate{};
  }

  /// Once it is known who answers.
  void finish() {
    const double n = static_cast<double>(findings.variance.tokens);
    if (n > 0) {
      const double mean = margin_sum_ / n;
      findings.variance.between = sentence_squares_ / n - mean * mean;
      findings.variance.within = (squares_ - sentence_squares_) / n;
    }
    findings.thresholds.tokens = own_.size();
    if (own_.size() >= kFewTokens)
      findings.thresholds.draft_acceptance =
          std::clamp(static_cast<double>(agreed_) / static_cast<double>(own_.size()), 0.01, 0.99);
    if (own_.size() >= kFewTokens)
      findings.thresholds.verify_epsilon = std::clamp(quantile(own_, kOwnTokensThatMayFail), 1e-6, 0.5);
    if (accepted_.size() >= kFewTokens) {
      const double margin = quantile(accepted_, kAcceptedTokensThatMayStop);
      findings.thresholds.guard_margin = margin;
      findings.thresholds.guard_refused = refused_.size();
      const auto caught = std::ranges::count_if(refused_, [&](double x) { return x < margin; });
      if (!refused_.empty())
        findings.thresholds.guard_catches = static_cast<double>(caught) / static_cast<double>(refused_.size());
    }
    const bool small_answers = findings.answers.small_may_answer();
    std::vector<Part> thinking, all;
    for (const auto& [problem, sums] : shares_) {
      thinking.push_back({sums.small, sums.thinking});
      all.push_back({sums.small + (small_answers ? sums.answer : 0), sums.all});
    }
    findings.handover.share_of_thinking = ratio_of(thinking, analysis_.options.seed);
    findings.handover.share = ratio_of(all, analysis_.options.seed);
    if (traces_ > 0) findings.handover.handoffs = static_cast<double>(segments_) / static_cast<double>(traces_);
    if (segments_ > 0) findings.handover.segment_tokens = small_tokens_ / static_cast<double>(segments_);
    for (std::size_t i = 0; i < order_.size(); ++i)
      findings.steps.push_back({order_[i], thinking_tokens_ > 0 ? step_tokens_[i] / thinking_tokens_ : 0});
  }

  Findings findings;

 private:
  struct Sums {
    double small = 0, thinking = 0, answer = 0, all = 0;
  };

  void add_margins(const Trace& trace, const Extent& extent, const std::vector<Occurrence>& found,
                   const Opinions& small) {
    for (std::uint32_t i = extent.first_thinking; i < extent.last_thinking; ++i)
      count(findings.all_margins, small.margin[i]);
    for (const Occurrence& one : found) {
      for (std::uint32_t i = one.after.first; i < one.after.last; ++i)
        count(findings.cue_margins[one.cue], small.margin[i]);
    }
    for (const Stretch& sentence : sentence_tails(trace, extent, analysis_.options.rules)) {
      double sum = 0;
      for (std::uint32_t i = sentence.first; i < sentence.last; ++i) {
        const auto margin = static_cast<double>(small.margin[i]);
        sum += margin;
        squares_ += margin * margin;
      }
      margin_sum_ += sum;
      sentence_squares_ += sum * sum / sentence.size();
      findings.variance.tokens += sentence.size();
      ++findings.variance.sentences;
    }
  }

  void add_thresholds(const Trace& trace, const Extent& extent, const std::vector<Occurrence>& found,
                      const Opinions& small, const Opinions& large) {
    if (large.margin.empty()) return;
    for (std::uint32_t i = extent.first_thinking; i < extent.last_thinking; ++i) {
      // Refused where p < min(epsilon, sqrt(epsilon) exp(-entropy)), that is, where epsilon is above both of these.
      const double p = std::exp(static_cast<double>(large.logprob[i]));
      const double scaled = p * std::exp(static_cast<double>(large.entropy[i]));
      own_.push_back(std::max(p, scaled * scaled));
      agreed_ += trace.tokens[i] == small.top[i];
    }
    for (const Occurrence& one : handoffs_of(found, selected_, analysis_.options.min_large_tokens)) {
      for (std::uint32_t i = one.after.first; i < one.after.last; ++i) {
        const bool refused = is_refused(static_cast<double>(large.of_asked[i]), static_cast<double>(large.entropy[i]),
                                        analysis_.options.typical);
        (refused ? refused_ : accepted_).push_back(static_cast<double>(small.margin[i]));
      }
    }
  }

  void add_handover(std::uint32_t problem, const Trace& trace, const Extent& extent,
                    const std::vector<Occurrence>& found, const Opinions& small, const Opinions& large) {
    const auto handoffs = handoffs_of(found, selected_, analysis_.options.min_large_tokens);
    Sums& sums = shares_[problem];
    const double thinking = extent.last_thinking - extent.first_thinking;
    for (const Occurrence& one : handoffs) {
      sums.small += one.after.size();
      small_tokens_ += one.after.size();
    }
    segments_ += handoffs.size();
    ++traces_;
    thinking_tokens_ += thinking;
    sums.thinking += thinking;
    sums.answer += static_cast<double>(trace.tokens.size()) - extent.first_answer;
    sums.all += static_cast<double>(trace.tokens.size());
    add_steps(analysis_, order_, found, step_tokens_);
    if (!findings.example && extent.graded_from && !handoffs.empty()) show(trace, extent, handoffs, small, large);
  }

  void show(const Trace& trace, const Extent& extent, const std::vector<Occurrence>& handoffs, const Opinions& small,
            const Opinions& large) {
    ExampleTrace& example = findings.example.emplace(ExampleTrace{.key = trace.key});
    const std::uint32_t first = extent.first_thinking;
    const std::uint32_t last = std::min(extent.last_thinking, first + static_cast<std::uint32_t>(kLongestExample));
    std::string cut;  // the beginning of a character that the next token completes
    for (std::uint32_t i = first; i < last; ++i) {
      const std::string piece = cut + trace.text.substr(trace.begin_of(i), trace.ends[i] - trace.begin_of(i));
      const std::size_t whole = whole_characters(piece);
      example.pieces.push_back(piece.substr(0, whole));
      cut = piece.substr(whole);
      example.small_margin.push_back(small.margin[i]);
      if (!large.margin.empty()) example.large_margin.push_back(large.margin[i]);
    }
    for (Occurrence one : handoffs) {
      if (one.after.last > last) break;
      one.after = {one.after.first - first, one.after.last - first};
      example.handoffs.push_back(one);
    }
  }

  const Store& store_;
  const Analysis& analysis_;
  const CueSet& cues_;
  std::vector<bool> selected_;
  std::map<std::string, std::uint32_t> index_;
  std::vector<std::uint32_t> order_;
  std::vector<double> step_tokens_;
  std::map<std::uint32_t, Sums> shares_;
  std::vector<double> own_, accepted_, refused_;
  std::size_t agreed_ = 0;  // of as many as own_ holds: the small model's first choice is the large one's token
  double margin_sum_ = 0, squares_ = 0, sentence_squares_ = 0, small_tokens_ = 0, thinking_tokens_ = 0;
  std::uint64_t segments_ = 0, traces_ = 0;
};

Status compare_answers(const Store& store, const Analysis& analysis, Findings& findings) {
  const auto list = store.small_answers();
  if (!list) return tl::unexpected(list.error());
  std::map<TraceKey, const SmallAnswer*> by_trace;
  for (const auto& one : *list) by_trace[one.trace] = &one;
  if (by_trace.empty()) return std::monostate{};
  std::map<std::string, const eval::Problem*> problems;
  for (const auto& problem : analysis.problems) problems[problem.id] = &problem;
  std::map<std::string, QuestionResult> agreed;
  std::uint32_t graded = 0, right_large = 0, right_small = 0;
  const auto read = [&](const Trace& trace) -> Status {
    const auto found = by_trace.find(trace.key);
    if (found == by_trace.end()) return std::monostate{};
    const auto& problem = *problems.at(trace.key.problem);
    const auto large = answer_of(trace, extent_of(trace, analysis.options.tags), problem);
    const auto& small = found->second->answer;
    if (!large && !small) return std::monostate{};  // nothing to compare
    const bool same = same_answer(large, small, problem.kind);
    auto& result = agreed[problem.id];
    ++result.samples;
    result.right += same;
    ++findings.answers.compared;
    findings.answers.same += same;
    if (problem.kind == eval::AnswerKind::none || problem.expected.empty()) return std::monostate{};
    ++graded;
    right_large += large && same_answer(large, problem.expected, problem.kind);
    right_small += small && same_answer(small, problem.expected, problem.kind);
    return std::monostate{};
  };
  if (auto ok = store.for_each(read); !ok) return ok;
  std::vector<QuestionResult> results;
  for (const auto& [problem, result] : agreed) results.push_back(result);
  const auto estimate = accuracy(results);
  findings.answers.agreement = {estimate.value, estimate.low, estimate.high};
  if (graded > 0) {
    findings.answers.right_large = static_cast<double>(right_large) / graded;
    findings.answers.right_small = static_cast<double>(right_small) / graded;
  }
  return std::monostate{};
}

}  // namespace

Result<Findings> find_out(const Store& store, const Analysis& analysis) {
  const auto cues = cues_of(analysis.candidates, analysis.options.rules);
  if (!cues) return tl::unexpected(cues.error());
  Reader reader(store, analysis, *cues);
  if (auto ok = store.for_each([&](const Trace& trace) { return reader.read(trace); }); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = compare_answers(store, analysis, reader.findings); !ok) return tl::unexpected(ok.error());
  reader.finish();
  return std::move(reader.findings);
}

}  // namespace relaygen::calibrate
