// One output of an evaluation: what one policy wrote for one problem, and what it cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/completion_json.h"
#include "relaygen/relay.h"

namespace relaygen::eval {

/// Counts of tokens. What an endpoint does not tell is not there.
struct TokenCounts {
  std::uint64_t prompt = 0;
  std::uint64_t generated = 0;
  struct Phases {
    std::uint64_t thinking = 0, answer = 0;
  };
  struct Authors {
    std::uint64_t large = 0, small = 0, forced = 0, handoffs = 0, dropped = 0;
    std::uint64_t verified = 0, refused = 0;  ///< tokens of the small model that the large one checked
    std::uint64_t drafted = 0, accepted = 0;  ///< guesses that it checked
  };
  std::optional<Phases> phases{};
  std::optional<Authors> authors{};
};

/// Seconds. Parts are known for the pair only.
struct TimeSpent {
  double total = 0;
  struct Parts {
    double prefill = 0, large_decode = 0, small_decode = 0, catch_up = 0, verify = 0;
  };
  std::optional<Parts> parts{};
};

/// Consecutive text of one author. `author` is "large", "small" or "forced".
struct TextSegment {
  std::string author{};
  std::uint64_t begin = 0, end = 0;  ///< bytes of Output::text, half-open
};

struct Output {
  std::string text{};    ///< everything after the prompt, tags included
  std::string answer{};  ///< what is graded: the text after the thinking
  FinishReason finish = FinishReason::none;
  TokenCounts tokens{};
  TimeSpent time{};
  std::vector<TextSegment> segments{};  ///< empty for endpoints

  /// Whether the text came to its own end.
  [[nodiscard]] bool finished() const { return finish == FinishReason::stop || finish == FinishReason::stop_string; }
};

[[nodiscard]] Output output_of(const Completion& completion);

/// The compact forms that a database holds.
[[nodiscard]] std::string tokens_to_text(const TokenCounts& tokens);
[[nodiscard]] TokenCounts tokens_from_text(const std::string& text);
[[nodiscard]] std::string time_to_text(const TimeSpent& time);
[[nodiscard]] TimeSpent time_from_text(const std::string& text);
[[nodiscard]] std::string segments_to_text(const std::vector<TextSegment>& segments);
[[nodiscard]] std::vector<TextSegment> segments_from_text(const std::string& text);
[[nodiscard]] FinishReason finish_reason(std::string_view name);

}  // namespace relaygen::eval
