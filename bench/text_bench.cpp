// What the text core costs a token: the cue matcher with 28 and with 1,000 cues, and the sentence detector, on real
// reasoning text where it is there, otherwise on the demo pair's problems. A token is some four bytes here.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "relaygen/cues.h"
#include "relaygen/sentence.h"

namespace relaygen {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The JSON strings of the file as they stand, line breaks unescaped: near enough to the text for its cost.
const std::string& corpus() {
  static const std::string text = [] {
    const std::filesystem::path root = RELAYGEN_SOURCE_DIR;
    std::string raw = read(root / "../shared/data/qwen3_32b_aime25_traces.jsonl");
    if (raw.empty()) raw = read(root / "models/demo/problems.heldout.jsonl");
    std::string unescaped;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\' || i + 1 == raw.size()) {
        unescaped += raw[i];
      } else {
        unescaped += raw[++i] == 'n' ? '\n' : raw[i];
      }
    }
    return unescaped;
  }();
  return text;
}

// Pieces of 2 to 6 bytes, 4 on average.
const std::vector<std::string_view>& tokens() {
  static const std::vector<std::string_view> pieces = [] {
    std::vector<std::string_view> all;
    std::string_view rest = corpus();
    for (std::size_t i = 0; !rest.empty(); ++i) {
      all.push_back(rest.substr(0, 2 + i * 7 % 5));
      rest.remove_prefix(all.back().size());
    }
    return all;
  }();
  return pieces;
}

// 28 discourse words as in the published set; beyond that longer phrases made of them and words of the text.
CueSet cue_set(std::size_t count) {
  const std::vector<std::string> words = {
      "Oh,",        "another,",     "Thus",          "Now",        "Alternatively", "alternatively,", "Thus,",
      "Therefore",  "similarly,",   "similarly",     "now",        "Again",         "specifically,",  "Again,",
      "Similarly,", "Now,",         "Specifically,", "Hence",      "Similarly",     "Other",          "now,",
      "hence",      "Specifically", "So ",           "Therefore,", "Wait,",         "Also",           "So,"};
  const std::vector<std::string> followers = {"we",   "the",  "let",   "if", "this",  "that",   "it",
                                              "for",  "in",   "so",    "a",  "there", "since",  "when",
                                              "each", "note", "check", "I",  "as",    "because"};
  std::vector<Cue> cues;
  for (const std::string& word : words) cues.push_back({word, true});
  for (std::size_t round = 0; cues.size() < count; ++round) {
    for (const std::string& word : words) {
      if (cues.size() == count) break;
      std::string phrase = (word.back() == ' ' ? word : word + " ") + followers[round % followers.size()];
      if (round >= followers.size()) phrase += " " + followers[(round * 7 + 1) % followers.size()];
      cues.push_back({phrase, round % 2 == 0});
    }
  }
  return CueSet::build(cues).value();
}

void per_token(benchmark::State& state) {
  const auto total = static_cast<double>(tokens().size());
  state.counters["s/token"] =
      benchmark::Counter(total, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_CueMatcher(benchmark::State& state) {
  const CueSet cues = cue_set(static_cast<std::size_t>(state.range(0)));
  std::vector<CueMatch> fired;
  for (auto _ : state) {
    fired.clear();
    CueMatcher matcher;
    for (const std::string_view token : tokens()) matcher.feed(cues, token, fired);
    benchmark::DoNotOptimize(fired.data());
  }
  per_token(state);
}
BENCHMARK(BM_CueMatcher)->Arg(28)->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_CueMatcherWithASnapshotAToken(benchmark::State& state) {
  const CueSet cues = cue_set(static_cast<std::size_t>(state.range(0)));
  std::vector<CueMatch> fired;
  for (auto _ : state) {
    fired.clear();
    CueMatcher matcher;
    for (const std::string_view token : tokens()) {
      const CueMatcher snapshot = matcher;
      benchmark::DoNotOptimize(snapshot.position());
      matcher.feed(cues, token, fired);
    }
  }
  per_token(state);
}
BENCHMARK(BM_CueMatcherWithASnapshotAToken)->Arg(28)->Arg(1000)->Unit(benchmark::kMillisecond);

void BM_SentenceEnds(benchmark::State& state) {
  std::vector<std::uint64_t> ends;
  for (auto _ : state) {
    ends.clear();
    SentenceEnds detector;
    for (const std::string_view token : tokens()) detector.feed(token, ends);
    benchmark::DoNotOptimize(ends.data());
  }
  per_token(state);
}
BENCHMARK(BM_SentenceEnds)->Unit(benchmark::kMillisecond);

void BM_BuildCueSet(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(cue_set(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(BM_BuildCueSet)->Arg(28)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace relaygen
