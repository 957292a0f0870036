// One calibration in one SQLite file: problems, traces, what both models think of them, proofs, answers.
//
// Each trace, each model's opinions of it and each text of a proof is one transaction, so that a killed process loses
// at most what it was working on. Selecting cues needs nothing but this file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "calibrate/trace.h"
#include "eval/dataset.h"
#include "io/completion_json.h"
#include "relaygen/error.h"

namespace relaygen::calibrate {

/// Who wrote on from a place of a trace.
enum class Arm : std::uint8_t {
  relay,  ///< the small model to the end of the sentence, then the large one, with the trace's seed
  same,   ///< the large model alone, with the trace's seed
  other,  ///< the large model alone, with another seed
};
[[nodiscard]] std::string_view name(Arm arm);

/// What came out of writing on from before token `token` of a trace.
struct ProofText {
  TraceKey trace{};
  std::uint32_t token = 0;
  Arm arm = Arm::relay;
  std::string text{};              ///< what was written
  std::uint32_t small_tokens = 0;  ///< of it by the small model, at the beginning
  bool finished = false;
  std::optional<std::string> answer{};  ///< none: there is none in it
};

/// The small model's answer behind the large model's thinking.
struct SmallAnswer {
  TraceKey trace{};
  std::string text{};
  bool finished = false;
  std::optional<std::string> answer{};
};

/// Not thread-safe. Errors of all functions: output_failed (a full disk, a read-only place, damage) with the file.
class Store {
 public:
  /// Opens or begins a calibration for writing; nobody else can write to it meanwhile. Errors: bad_input, output_failed.
  [[nodiscard]] static Result<Store> open(const std::string& file);
  /// Sees the file as it is now, whatever is written to it meanwhile.
  [[nodiscard]] static Result<Store> open_to_read(const std::string& file);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Records settings under a key, or compares them with what is recorded there. Errors: usage, naming the first
  /// setting that differs.
  [[nodiscard]] Status settle(const std::string& key, const OrderedJson& given);
  [[nodiscard]] Result<OrderedJson> settings(const std::string& key) const;  ///< null: nothing is recorded

  /// Adds problems that are not there yet, behind those that are. Errors: also usage (another question, expected answer,
  /// kind or options of that id).
  [[nodiscard]] Status add_problems(std::span<const eval::Problem> problems);
  [[nodiscard]] Result<std::vector<eval::Problem>> problems() const;

  /// Replaces nothing: a trace that is there stays.
  [[nodiscard]] Status put(const Trace& trace);
  [[nodiscard]] Result<std::set<TraceKey>> traces() const;
  [[nodiscard]] Result<std::optional<std::string>> text_of(const TraceKey& trace) const;  ///< none: it is not there
  /// Calls for each trace in the order of problems and samples; one is in memory at a time.
  [[nodiscard]] Status for_each(const std::function<Status(const Trace&)>& visit) const;

  [[nodiscard]] Status put(const TraceKey& trace, Model model, const Opinions& opinions);
  [[nodiscard]] Result<std::set<TraceKey>> judged(Model model) const;
  [[nodiscard]] Result<Opinions> opinions(const TraceKey& trace, Model model) const;

  [[nodiscard]] Status put(std::span<const ProofText> texts);   ///< of one place: all of them or none
  [[nodiscard]] Result<std::vector<ProofText>> proofs() const;  ///< in the order of trace, token and arm

  [[nodiscard]] Status put(const SmallAnswer& answer);
  [[nodiscard]] Result<std::vector<SmallAnswer>> small_answers() const;

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace relaygen::calibrate
