// Where a result comes from: program, command, machine. And reports of results as files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "io/completion_json.h"
#include "relaygen/error.h"
#include "relaygen/pair.h"

namespace relaygen::cli {

/// Name and version.
[[nodiscard]] std::string program();

/// The command as a shell would take it again. URLs lose what may be secret in them.
[[nodiscard]] std::string command_line(const std::vector<std::string>& arguments);

/// Processor, cores, threads (0: no pair was used).
[[nodiscard]] OrderedJson describe_machine(std::int32_t threads);

/// The fields that results of every kind begin with.
[[nodiscard]] OrderedJson provenance(std::string_view kind, std::string_view command, const PairInfo& pair);

/// What --json, --markdown, --csv and --report ask for.
struct OutputFlags {
  bool json = false, markdown = false, csv = false;
  std::string report;
};

void add_output_flags(CLI::App& app, OutputFlags& flags);

/// Errors: usage (more than one kind of text).
[[nodiscard]] Status check_output_flags(const OutputFlags& flags);

/// Prints a result as the flags say, or `text` where they ask for nothing, and writes the report.
/// Errors: output_failed.
[[nodiscard]] Status show_result(const OrderedJson& json, std::string_view text, const OutputFlags& flags);

}  // namespace relaygen::cli
