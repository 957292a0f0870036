#include <new>
#include <string>
#include <unordered_map>

#include "core/cue_automaton.h"
#include "core/unicode.h"

namespace relaygen {
namespace {

constexpr std::string_view kAdvice = "correct the list of cues in the profile or in --cues";

std::string quoted(const Cue& cue, std::size_t index) {
  return unicode::is_utf8(cue.text) ? "\"" + cue.text + "\"" : "number " + std::to_string(index + 1);
}

Status check(const Cue& cue, std::size_t index) {
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorKind::bad_profile, "the cue " + quoted(cue, index) + " " + why, std::string(kAdvice));
  };
  if (!unicode::is_utf8(cue.text)) return refuse("is not UTF-8");
  if (cue.text.empty()) return refuse("is empty");
  if (cue.text.find_first_not_of(' ') == std::string::npos) return refuse("holds only spaces");
  if (cue.text.find_first_of("\r\n") != std::string::npos) return refuse("holds a line break");
  if (cue.text.size() > kMaxCueBytes) {
    return refuse("is " + std::to_string(cue.text.size()) + " bytes long, and a cue may have " +
                  std::to_string(kMaxCueBytes));
  }
  return std::monostate{};
}

}  // namespace

Result<CueSet> CueSet::build(std::span<const Cue> cues, Rules rules) try {
  if (cues.size() > kMaxCues) {
    return fail(
        ErrorKind::bad_profile,
        "there are " + std::to_string(cues.size()) + " cues, and a profile may have " + std::to_string(kMaxCues),
        std::string(kAdvice));
  }
  std::unordered_map<std::string_view, bool> seen;
  for (std::size_t i = 0; i < cues.size(); ++i) {
    if (const Status status = check(cues[i], i); !status) return tl::unexpected(status.error());
    const auto [known, is_new] = seen.try_emplace(cues[i].text, cues[i].selected);
    if (!is_new && known->second != cues[i].selected) {
      return fail(ErrorKind::bad_profile, "the cue \"" + cues[i].text + "\" is listed twice, selected and not selected",
                  std::string(kAdvice));
    }
  }

  auto automaton = std::make_shared<Automaton>();
  automaton->cues.assign(cues.begin(), cues.end());
  automaton->rules = rules;
  for (std::size_t i = 0; i < cues.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    std::string_view text = cues[i].text;
    if (rules == Rules::published) {
      if (cues[i].selected) automaton->add_stem(text, false, index);
      continue;
    }
    const bool followed_by_space = text.back() == ' ';
    if (followed_by_space) text.remove_suffix(1);
    automaton->add_stem(text, followed_by_space, index);
  }
  automaton->link();
  CueSet set;
  set.automaton_ = std::move(automaton);
  return set;
} catch (const std::bad_alloc&) {
  return fail(ErrorKind::out_of_memory, "out of memory", "free memory");
}

std::shared_ptr<const CueSet::Automaton> CueSet::no_cues() {
  static const std::shared_ptr<const Automaton> empty = [] {
    auto automaton = std::make_shared<Automaton>();
    automaton->link();
    return automaton;
  }();
  return empty;
}

std::span<const Cue> CueSet::cues() const noexcept { return automaton_->cues; }

Rules CueSet::rules() const noexcept { return automaton_->rules; }

}  // namespace relaygen
