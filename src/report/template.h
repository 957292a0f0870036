// The report's template, made at build time from web/report. Internal.
#pragma once

#include <string_view>

namespace relaygen::report {

/// A whole HTML file in which @@title@@ and then @@data@@ are still to be filled in.
[[nodiscard]] std::string_view html_template();

}  // namespace relaygen::report
