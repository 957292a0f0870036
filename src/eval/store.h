// The outputs of one evaluation in one SQLite file.
//
// The file holds everything that a report needs: the settings, the problems as they were asked, every output with its
// text. Each output is one transaction, so that a killed process loses at most the output that it was writing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "eval/dataset.h"
#include "eval/output.h"
#include "relaygen/error.h"

namespace relaygen::eval {

/// Which output: one sample of one problem under one policy.
struct OutputKey {
  std::string policy{};
  std::string problem{};
  std::uint32_t sample = 0;
  bool operator==(const OutputKey&) const = default;
  bool operator<(const OutputKey& other) const {
    return std::tie(policy, problem, sample) < std::tie(other.policy, other.problem, other.sample);
  }
};

struct StoredPolicy {
  std::string name{};
  OrderedJson settings{};
};

/// A problem with the prompt that was made of it.
struct StoredProblem {
  Problem problem{};
  std::string prompt{};
};

/// An output, or the error of the last attempt.
struct StoredOutput {
  OutputKey key{};
  Output output{};
  std::optional<std::string> error{};
  std::uint32_t attempts = 0;
};

/// A process that wrote into the file.
struct StoredRun {
  std::string started{};  ///< UTC, "2026-11-30T15:20:00Z"
  std::string program{};
  std::string command{};
  OrderedJson machine{};
};

/// Not thread-safe. Errors of all functions: output_failed (a full disk, a read-only place, damage) with the file.
class Store {
 public:
  /// Opens the evaluation of a file for writing, or begins one; nobody else can write to it until this is destroyed.
  /// Errors: bad_input (no database, a foreign one, one of a newer RelayGen), output_failed (it cannot be created or
  /// written, another process is writing).
  [[nodiscard]] static Result<Store> open(const std::string& file);
  /// Opens it for reading, also while another process writes. Errors: bad_input.
  [[nodiscard]] static Result<Store> open_to_read(const std::string& file);
  /// An evaluation that is gone with the process.
  [[nodiscard]] static Result<Store> in_memory();

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// An evaluation without any output or error has nothing that settings could contradict: forgets them, so that a
  /// first attempt that failed binds nobody.
  [[nodiscard]] Status begin_anew_if_empty();

  /// Records settings under a key, or compares them with what is recorded there. Errors: usage naming the first
  /// setting that differs, with both values.
  [[nodiscard]] Status settle(const std::string& key, const OrderedJson& settings);
  /// Records what may change from run to run, in place of what was there.
  [[nodiscard]] Status record(const std::string& key, const OrderedJson& value);
  /// Settings of a key; null where there are none.
  [[nodiscard]] Result<OrderedJson> settings(const std::string& key) const;

  /// As settle, for the settings of one policy. Policies keep the order in which they came.
  [[nodiscard]] Status settle_policy(const StoredPolicy& policy);
  /// Puts new settings in place of those of a policy that is recorded.
  [[nodiscard]] Status replace_policy(const StoredPolicy& policy);
  [[nodiscard]] Result<std::vector<StoredPolicy>> policies() const;

  /// Adds the problems that are not there yet, each with its position in the dataset. Errors: also usage, where a
  /// problem of that id is there with another prompt.
  [[nodiscard]] Status add_problems(std::span<const StoredProblem> problems, std::span<const std::size_t> positions);
  /// In the order of the dataset.
  [[nodiscard]] Result<std::vector<StoredProblem>> problems() const;

  [[nodiscard]] Status add_run(const StoredRun& run);
  [[nodiscard]] Result<std::vector<StoredRun>> runs() const;

  /// One transaction each. `attempts` are added to those before. An output takes the place of an error.
  [[nodiscard]] Status put(const OutputKey& key, const Output& output, std::string_view verdict,
                           const std::string& started, std::uint32_t attempts);
  [[nodiscard]] Status put_error(const OutputKey& key, const std::string& error, const std::string& started,
                                 std::uint32_t attempts);

  /// The keys that have an output, and those that have an error instead.
  [[nodiscard]] Result<std::set<OutputKey>> done() const;
  [[nodiscard]] Result<std::set<OutputKey>> failed() const;
  /// Samples of a problem for which there is an output or an error, at most.
  [[nodiscard]] Result<std::uint32_t> samples() const;
  /// Calls for each output and error, without texts and segments, so that memory stays small.
  [[nodiscard]] Status for_each(const std::function<void(const StoredOutput&)>& visit) const;
  /// One output with text and segments; nothing where there is none.
  [[nodiscard]] Result<std::optional<StoredOutput>> find(const OutputKey& key) const;

 private:
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// Now, as "2026-11-30T15:20:00Z".
[[nodiscard]] std::string utc_now();

}  // namespace relaygen::eval
