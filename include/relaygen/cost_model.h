// What a schedule of decodes costs, from measured costs of single batches.
//
// A relay is a list of batches: one token by the large model, one by the small one, a catch-up of many. Which batches
// they are follows from the text and the policy, what each costs is measured once on the machine, and the sum is the
// least that this schedule can take there: its ideal time. What a real run takes beyond it is the program's own cost.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "relaygen/types.h"

namespace relaygen {

/// What a batch is for. Timing in relay.h names the same parts.
enum class Part : std::uint8_t { prefill, large_decode, small_decode, catch_up, verify };

inline constexpr std::array<Part, 5> kParts{Part::prefill, Part::large_decode, Part::small_decode, Part::catch_up,
                                            Part::verify};

[[nodiscard]] std::string_view name(Part part);

/// The part of a decode of `rows` tokens on top of `depth` cached ones, in a text behind a prompt of `prompt_tokens`;
/// `output_rows` of them give logits. Several of the large model check what stands there.
[[nodiscard]] Part part_of(Model model, std::int64_t rows, std::int64_t output_rows, std::int64_t depth,
                           std::int64_t prompt_tokens);

/// One decode of one model.
struct Batch {
  Model model = Model::large;
  Part part = Part::large_decode;
  std::int32_t rows = 0;     ///< tokens in it, >= 1
  std::int32_t depth = 0;    ///< tokens that the model's cache held before
  std::int32_t outputs = 1;  ///< rows of it that give logits
};

using Schedule = std::vector<Batch>;

/// A measurement.
struct BatchCost {
  std::int32_t depth = 0;
  std::int32_t rows = 0;
  double seconds = 0;
};

/// Costs of one model's batches. Immutable; thread-safe.
class CostTable {
 public:
  /// Measurements in any order; of several with the same depth and rows the last one counts. An empty table costs 0.
  CostTable() = default;
  explicit CostTable(std::span<const BatchCost> costs);

  /// Seconds of a batch. Between measured sizes by straight lines, beyond them by the nearest line, in rows first and
  /// then in depth; never negative.
  [[nodiscard]] double seconds(double rows, double depth) const;

  /// The measurements, sorted by depth, then rows.
  [[nodiscard]] std::vector<BatchCost> costs() const;

 private:
  struct Point {
    double at;
    double seconds;
  };
  struct Curve {  // one depth
    double depth;
    std::vector<Point> rows;
  };
  static double between(std::span<const Point> points, double at);
  std::vector<Curve> curves_;
};

struct CostModel {
  CostTable large{}, small{};  ///< of batches that give one row of logits
  double output_row = 0;       ///< seconds of each further row of logits of the large model
  double choice = 0;           ///< seconds of choosing a token from a row, which is no part of a batch
  [[nodiscard]] double seconds(const Batch& batch) const {
    const double further = batch.model == Model::large && batch.outputs > 1 ? output_row * (batch.outputs - 1) : 0;
    return (batch.model == Model::large ? large : small).seconds(batch.rows, batch.depth) + further;
  }
};

/// A schedule by part.
struct PartTimes {
  struct One {
    std::uint64_t batches = 0;
    std::uint64_t rows = 0;
    double seconds = 0;
  };
  std::array<One, kParts.size()> parts{};

  [[nodiscard]] One& operator[](Part part) { return parts[static_cast<std::size_t>(part)]; }
  [[nodiscard]] const One& operator[](Part part) const { return parts[static_cast<std::size_t>(part)]; }
  [[nodiscard]] double seconds() const;
  PartTimes& operator+=(const PartTimes& other);
};

/// The ideal time of a schedule: the sum of its batches.
[[nodiscard]] PartTimes ideal_time(std::span<const Batch> schedule, const CostModel& costs);

/// Tokens a second that the large model writes where the small one guesses ahead and is right with probability
/// `acceptance` at each place: with the best number of guesses, which may be none.
[[nodiscard]] double drafted_rate(const CostModel& costs, double acceptance, double depth);

/// Where the small model is tried everywhere and verified: the longest segment, of 3, 7, 15, 31 and 63 tokens (with the
/// token before them batches of 4, 8, 16, ... rows, which are cheap), that still gives most tokens a second where nearly
/// all of its tokens are agreed to.
[[nodiscard]] std::uint32_t longest_trial(const CostModel& costs, double depth);

/// Without a schedule: time of the large model alone divided by the relay's, where the small model writes
/// `share` of the tokens, in (0, 1), in segments of `segment` tokens, at one depth. Per cycle the large model decodes
/// its own tokens, one batch catches up with the small model's segment and goes on, the small model catches up likewise
/// and decodes its segment, with one more token to see its end. With `acceptance` > 0 the large model's tokens are
/// guessed ahead on both sides.
[[nodiscard]] double relay_speed_up(const CostModel& costs, double share, double segment, double depth,
                                    double acceptance = 0);

}  // namespace relaygen
