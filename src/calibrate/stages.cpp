#include "calibrate/stages.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "calibrate/teacher.h"
#include "io/hashing.h"

namespace relaygen::calibrate {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Tells progress, with the time left by the pace of this run.
class Pace {
 public:
  Pace(std::string stage, std::size_t done, std::size_t all, const StageContext& context)
      : context_(context), progress_{.stage = std::move(stage), .done = done, .all = all}, before_(done) {
    tell();
  }
  void step() {
    ++progress_.done;
    const auto steps = static_cast<double>(progress_.done - before_);
    progress_.seconds_left = (now() - begin_) / steps * static_cast<double>(progress_.all - progress_.done);
    tell();
  }

 private:
  void tell() const {
    if (context_.progress) context_.progress(progress_);
  }
  const StageContext& context_;
  StageProgress progress_;
  std::size_t before_;
  double begin_ = now();
};

void say(const StageContext& context, const std::string& sentence) {
  if (context.say) context.say(sentence);
}

std::string shown(const TraceKey& key) {
  return key.sample == 0 ? key.problem : fmt::format("{} (sample {})", key.problem, key.sample + 1);
}

tl::unexpected<Error> stopped() { return fail(ErrorKind::cancelled, "The calibration was stopped"); }

// What belongs to one input and not to the run as a whole.
bool is_of_one_input(const Error& error) {
  return error.kind == ErrorKind::too_long || error.kind == ErrorKind::bad_input;
}

}  // namespace

Status write_traces(Store& store, std::span<const eval::Problem> problems, std::uint32_t sample, std::uint64_t seed,
                    const RequestOf& request_of, const StageContext& context) {
  const auto written = store.traces();
  if (!written) return tl::unexpected(written.error());
  std::vector<const eval::Problem*> missing;
  for (const auto& problem : problems) {
    if (!written->contains({problem.id, sample})) missing.push_back(&problem);
  }
  if (missing.empty()) return std::monostate{};
  Pace pace(fmt::format("writing traces, round {}", sample + 1), problems.size() - missing.size(), problems.size(),
            context);
  for (const auto* problem : missing) {
    if (context.cancel->load()) return stopped();
    const TraceKey key{problem->id, sample};
    auto request = request_of(*problem);
    auto trace = request ? sample_trace(*context.engine, std::move(*request), key,
                                        output_seed(seed, problem->id, sample), *context.cancel)
                         : Result<Trace>(tl::unexpected(request.error()));
    if (trace) {
      if (auto ok = store.put(*trace); !ok) return ok;
    } else if (is_of_one_input(trace.error())) {
      say(context, fmt::format("problem {} is left out: {}", problem->id, trace.error().message));
    } else {
      return tl::unexpected(trace.error());
    }
    pace.step();
  }
  return std::monostate{};
}

Status judge_traces(Store& store, bool small_only, const StageContext& context) {
  const auto by_small = store.judged(Model::small);
  if (!by_small) return tl::unexpected(by_small.error());
  const auto by_large = store.judged(Model::large);
  if (!by_large) return tl::unexpected(by_large.error());
  const auto all = store.traces();
  if (!all) return tl::unexpected(all.error());
  const auto done = [&](const TraceKey& key) {
    return by_small->contains(key) && (small_only || by_large->contains(key));
  };
  const auto finished = static_cast<std::size_t>(std::ranges::count_if(*all, done));
  if (finished == all->size()) return std::monostate{};
  Pace pace("reading traces", finished, all->size(), context);
  const auto window = static_cast<std::size_t>(context.engine->limits().window);
  return store.for_each([&](const Trace& trace) -> Status {
    if (done(trace.key)) return std::monostate{};
    if (context.cancel->load()) return stopped();
    if (trace.prompt.size() + trace.tokens.size() > window) {
      say(context, fmt::format("trace {} is left out: its {} tokens do not fit the window of {}; give a larger -c",
                               shown(trace.key), trace.prompt.size() + trace.tokens.size(), window));
      pace.step();
      return std::monostate{};
    }
    auto small = by_small->contains(trace.key)
                     ? store.opinions(trace.key, Model::small)
                     : opinions_of(*context.engine, Model::small, trace.prompt, trace.tokens, {}, *context.cancel);
    if (!small) return tl::unexpected(small.error());
    if (!by_small->contains(trace.key)) {
      if (auto ok = store.put(trace.key, Model::small, *small); !ok) return ok;
    }
    if (!small_only) {
      const auto large =
          opinions_of(*context.engine, Model::large, trace.prompt, trace.tokens, small->top, *context.cancel);
      if (!large) return tl::unexpected(large.error());
      if (auto ok = store.put(trace.key, Model::large, *large); !ok) return ok;
    }
    pace.step();
    return std::monostate{};
  });
}

Status write_proofs(Store& store, std::span<const ProofPlace> places, const ProofOptions& options,
                    const StageContext& context) {
  const auto known = store.proofs();
  if (!known) return tl::unexpected(known.error());
  std::set<std::pair<TraceKey, std::uint32_t>> written;
  for (const auto& text : *known) written.emplace(text.trace, text.token);
  std::map<TraceKey, std::set<std::uint32_t>> wanted;
  for (const auto& place : places) wanted[place.trace].insert(place.token);
  const auto list = store.problems();
  if (!list) return tl::unexpected(list.error());
  std::map<std::string, const eval::Problem*> problems;
  for (const auto& problem : *list) problems[problem.id] = &problem;

  std::size_t all = 0, done = 0;
  for (const auto& [key, tokens] : wanted) {
    for (const std::uint32_t token : tokens) {
      ++all;
      done += written.contains({key, token});
    }
  }
  if (done == all) return std::monostate{};
  Pace pace("proving cues", done, all, context);
  return store.for_each([&](const Trace& trace) -> Status {
    const auto tokens = wanted.find(trace.key);
    if (tokens == wanted.end()) return std::monostate{};
    for (const std::uint32_t token : tokens->second) {
      if (written.contains({trace.key, token})) continue;
      if (context.cancel->load()) return stopped();
      const auto texts =
          write_on(*context.engine, trace, token, options, *problems[trace.key.problem], *context.cancel);
      if (!texts && (is_of_one_input(texts.error()) || texts.error().kind == ErrorKind::usage)) {
        say(context, fmt::format("a place of trace {} is left out: {}", shown(trace.key), texts.error().message));
      } else if (!texts) {
        return tl::unexpected(texts.error());
      } else if (auto ok = store.put(*texts); !ok) {
        return ok;
      }
      pace.step();
    }
    return std::monostate{};
  });
}

Status write_answers(Store& store, std::uint32_t most, const ProofOptions& options, const StageContext& context) {
  const auto known = store.small_answers();
  if (!known) return tl::unexpected(known.error());
  std::set<TraceKey> written;
  for (const auto& answer : *known) written.insert(answer.trace);
  const auto list = store.problems();
  if (!list) return tl::unexpected(list.error());
  std::map<std::string, const eval::Problem*> problems;
  for (const auto& problem : *list) problems[problem.id] = &problem;
  std::vector<TraceKey> wanted;
  std::map<std::string, std::uint32_t> of_problem;
  const auto find = [&](const Trace& trace) -> Status {
    const auto extent = extent_of(trace, options.tags);
    if (trace.finished && extent.answer_begin && of_problem[trace.key.problem]++ < most) wanted.push_back(trace.key);
    return std::monostate{};
  };
  if (auto ok = store.for_each(find); !ok) return ok;
  const auto done = static_cast<std::size_t>(
      std::ranges::count_if(wanted, [&](const TraceKey& key) { return written.contains(key); }));
  if (done == wanted.size()) return std::monostate{};
  Pace pace("comparing answers", done, wanted.size(), context);
  const std::set<TraceKey> keys(wanted.begin(), wanted.end());
  return store.for_each([&](const Trace& trace) -> Status {
    if (!keys.contains(trace.key) || written.contains(trace.key)) return std::monostate{};
    if (context.cancel->load()) return stopped();
    const auto answer = answer_small(*context.engine, trace, options, *problems[trace.key.problem], *context.cancel);
    if (!answer && is_of_one_input(answer.error())) {
      say(context, fmt::format("the answer of trace {} is left out: {}", shown(trace.key), answer.error().message));
    } else if (!answer) {
      return tl::unexpected(answer.error());
    } else if (auto ok = store.put(*answer); !ok) {
      return ok;
    }
    pace.step();
    return std::monostate{};
  });
}

}  // namespace relaygen::calibrate
