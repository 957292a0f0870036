// The commands of the program. Each adds itself to the app; its callback runs it and stores the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace relaygen::cli {

void add_run_command(CLI::App& app, int& exit_code);
void add_chat_command(CLI::App& app, int& exit_code);
void add_segment_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
/// These put the program's arguments into their results.
void add_plan_command(CLI::App& app, const std::vector<std::string>& arguments, int& exit_code);
void add_bench_command(CLI::App& app, const std::vector<std::string>& arguments, int& exit_code);
void add_eval_command(CLI::App& app, const std::vector<std::string>& arguments, int& exit_code);
void add_calibrate_command(CLI::App& app, const std::vector<std::string>& arguments, int& exit_code);
void add_profile_command(CLI::App& app, int& exit_code);
void add_grade_command(CLI::App& app, int& exit_code);

}  // namespace relaygen::cli
