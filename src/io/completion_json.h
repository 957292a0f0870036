// Results and events as JSON (docs/json.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "relaygen/relay.h"

namespace relaygen {

using OrderedJson = nlohmann::ordered_json;

/// text, thinking, answer, finish, segments, usage, timing, error. The cues give the names of what opened segments.
[[nodiscard]] OrderedJson completion_to_json(const Completion& completion, const CueSet& cues);

[[nodiscard]] OrderedJson usage_to_json(const Usage& usage);
[[nodiscard]] OrderedJson timing_to_json(const Timing& timing);

/// One event as an object with a "type": "token", "segment" or "judged".
[[nodiscard]] OrderedJson event_to_json(const Event& event, const CueSet& cues);

/// One line of JSON without a line break. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_line(const OrderedJson& json);

}  // namespace relaygen
