// Names as people write them. Internal.
#pragma once

#include <string>
#include <string_view>

namespace relaygen {

/// ASCII letters and digits alone, in lower case: "Correct Answer", "correct_answer" and "CORRECT-ANSWER" are one name.
[[nodiscard]] std::string simplified(std::string_view name);

}  // namespace relaygen
