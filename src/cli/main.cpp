#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/session.h"

namespace relaygen::cli {
namespace {

int run(int argc, const char* const* argv) {
  CLI::App app{"RelayGen: a large and a small reasoning model write one answer together."};
  app.name("relaygen");
  app.set_version_flag("--version", "relaygen " RELAYGEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Help on a command: relaygen COMMAND --help. Exit codes: 0 success, 2 usage, 3 model file, 4 pair, 5 profile, 6 "
      "input, 7 memory, 8 decode, 9 output, 10 outputs of an evaluation are missing, 130 interrupted.");
  app.get_formatter()->column_width(34);
  int exit_code = 0;
  add_run_command(app, exit_code);
  add_chat_command(app, exit_code);
  add_segment_command(app, exit_code);
  add_check_command(app, exit_code);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  add_plan_command(app, words, exit_code);
  add_bench_command(app, words, exit_code);
  add_eval_command(app, words, exit_code);
  add_calibrate_command(app, words, exit_code);
  add_profile_command(app, exit_code);
  add_grade_command(app, exit_code);
  if (argc < 2) {
    out("{}", app.help());
    return relaygen::cli::exit_code(ErrorKind::usage);
  }
  const std::string_view command = argv[1];
  const auto known = app.get_subcommands([](CLI::App*) { return true; });
  if (!command.starts_with('-') &&
      std::none_of(known.begin(), known.end(), [&](const CLI::App* one) { return one->get_name() == command; })) {
    print_error({ErrorKind::usage, fmt::format("there is no command '{}'", command),
                 "choose one of run, chat, segment, check, plan, bench, eval, calibrate, profile, grade"});
    return relaygen::cli::exit_code(ErrorKind::usage);
  }
  try {
    auto arguments = expand_short_flags(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the last first
    app.parse(std::move(arguments));
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    print_error({ErrorKind::usage, error.what(), "see relaygen --help"});
    return relaygen::cli::exit_code(ErrorKind::usage);
  }
  return exit_code;
}

}  // namespace
}  // namespace relaygen::cli

int main(int argc, char** argv) {
  relaygen::cli::open_standard_streams();
  try {
    return relaygen::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("relaygen: an allocation failed. To do: free memory.\n", stderr);
    return relaygen::cli::exit_code(relaygen::ErrorKind::out_of_memory);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "relaygen: a defect: %s. To do: please report it.\n", error.what());
    return relaygen::cli::exit_code(relaygen::ErrorKind::internal);
  }
}
