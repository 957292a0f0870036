// Reports of measurements: one HTML file that needs nothing else, a Markdown text, a table for spreadsheets.
//
// All of them read the object that `relaygen eval --json`, `relaygen bench --json` and `relaygen calibrate --json` print
// (docs/report.md). Fields that are missing or null are left out. All functions are pure; texts in the data may hold anything, also bytes that are
// not UTF-8, which become U+FFFD.
#pragma once

#include <string>

#include "io/completion_json.h"
#include "relaygen/error.h"

namespace relaygen::report {

/// The HTML file. It draws itself in a browser and asks for nothing from outside. The data is in it as JSON, in the
/// element with the id "data", with "headline" added where it has none. Errors: internal, if `data` is no object.
[[nodiscard]] Result<std::string> render_report(const OrderedJson& data);

/// What the numbers say, in one or two sentences; empty where there is nothing to say.
[[nodiscard]] std::string report_headline(const OrderedJson& data);

/// Title, headline, notes and tables as GitHub's Markdown.
[[nodiscard]] std::string report_markdown(const OrderedJson& data);

/// The table of policies ("eval"), rows ("bench") or cues ("calibrate") with full precision, as in RFC 4180 (UTF-8, CRLF, a header line).
/// Texts that a spreadsheet would take for a formula get an apostrophe in front.
[[nodiscard]] std::string report_csv(const OrderedJson& data);

}  // namespace relaygen::report
