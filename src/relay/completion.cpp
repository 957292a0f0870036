#include "relay/completion.h"

#include <algorithm>
#include <cmath>

namespace relaygen {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

void split_phases(const Loop& loop, Completion& result) {
  const std::string_view text = result.text;
  const PhaseTracker& phase = loop.state().phase;
  const bool thought = phase.opened() || phase.thinking_end().has_value();
  if (loop.request().tags.ends.empty() || !thought || loop.request().prompt_state == PromptState::answering) {
    result.answer = trimmed(text);
    return;
  }
  const auto size = static_cast<std::uint64_t>(text.size());
  const auto begin = std::min(phase.thinking_begin(), size);
  const auto end = std::clamp(phase.thinking_end().value_or(size), begin, size);
  result.thinking = trimmed(text.substr(begin, end - begin));
  if (const auto answer = phase.answer_begin(); answer && *answer <= size)
    result.answer = trimmed(text.substr(*answer));
}

void count(const TokenRecord& record, Usage& usage) {
  if (record.author == Author::large) ++usage.large;
  if (record.author == Author::small) ++usage.small;
  if (record.author == Author::forced) ++usage.forced;
  ++(record.phase == Phase::thinking ? usage.thinking : usage.answer);
  if (!std::isnan(record.large_logprob)) {
    ++usage.judged;
    usage.judged_logprob += static_cast<double>(record.large_logprob);
  }
}

}  // namespace

Usage& Usage::operator+=(const Usage& other) noexcept {
  prompt += other.prompt;
  large += other.large;
  small += other.small;
  forced += other.forced;
  thinking += other.thinking;
  answer += other.answer;
  handoffs += other.handoffs;
  dropped += other.dropped;
  sentence_starts += other.sentence_starts;
  judged += other.judged;
  judged_logprob += other.judged_logprob;
  verified += other.verified;
  refused += other.refused;
  drafted += other.drafted;
  accepted += other.accepted;
  return *this;
}

Completion assemble_completion(const Loop& loop) {
  Completion result;
  result.finish = loop.finish();
  Usage& usage = result.usage;
  usage.prompt = loop.request().prompt.size();
  usage.dropped = loop.dropped();
  usage.verified = loop.verified();
  usage.refused = loop.refused();
  usage.sentence_starts = loop.state().sentence_starts;

  const auto switches = loop.switches();
  auto change = switches.begin();
  Author leader = Author::prompt;
  for (std::uint64_t i = usage.prompt; i < loop.committed(); ++i) {
    const TokenRecord& record = loop.log()[i];
    count(record, usage);
    if (result.segments.empty() || result.segments.back().author != record.author) {
      Segment segment{.first_token = i,
                      .begin = result.text.size(),
                      .author = record.author,
                      .phase = record.phase,
                      .cue = {},
                      .why = {}};
      while (change != switches.end() && change->token < i) ++change;
      if (!result.segments.empty() && change != switches.end() && change->token == i) {
        segment.why = change->why;
        segment.cue = change->cue;
      }
      if (record.author == Author::small && leader == Author::large) ++usage.handoffs;
      result.segments.push_back(segment);
    }
    if (record.author != Author::forced) leader = record.author;
    result.text += loop.piece(i);
    result.segments.back().tokens += 1;
    result.segments.back().end = result.text.size();
  }

  // A stop string and what follows it are no part of the text.
  if (loop.finish() == FinishReason::stop_string) {
    result.text.resize(std::min<std::size_t>(result.text.size(), loop.visible_bytes()));
    while (!result.segments.empty() && result.segments.back().begin >= result.text.size()) result.segments.pop_back();
    if (!result.segments.empty()) result.segments.back().end = result.text.size();
  }
  split_phases(loop, result);
  if (loop.request().tags.ends.empty()) {  // for the reader, a model without thinking only answers
    usage.answer += usage.thinking;
    usage.thinking = 0;
  }
  return result;
}

}  // namespace relaygen
