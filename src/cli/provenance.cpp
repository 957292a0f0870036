#include "cli/provenance.h"

#include <fmt/core.h>

#include <fstream>
#include <thread>

#include "cli/output.h"
#include "eval/endpoint.h"
#include "eval/store.h"
#include "io/line_writer.h"
#include "report/report.h"

namespace relaygen::cli {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Status write_report(const std::string& path, const OrderedJson& json) {
  auto html = report::render_report(json);
  if (!html) return tl::unexpected(html.error());
  return write_file(path, *html);
}

}  // namespace

std::string program() { return "relaygen " RELAYGEN_VERSION; }

std::string command_line(const std::vector<std::string>& arguments) {
  std::string line = "relaygen";
  for (const auto& argument : arguments) {
    const std::string shown = argument.find("://") == std::string::npos ? argument : eval::shown_url(argument);
    constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%";
    if (!shown.empty() && shown.find_first_not_of(kPlain) == std::string::npos) {
      line += " " + shown;
      continue;
    }
    line += " '";
    for (const char c : shown) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

OrderedJson describe_machine(std::int32_t threads) {
  OrderedJson json{{"cpu", processor_name()}, {"cores", std::thread::hardware_concurrency()}};
  json["threads"] = threads > 0 ? OrderedJson(threads) : OrderedJson(nullptr);
  return json;
}

OrderedJson provenance(std::string_view kind, std::string_view command, const PairInfo& pair) {
  OrderedJson json{{"kind", kind}, {"title", ""}, {"created", eval::utc_now()}};
  json["program"] = program();
  json["command"] = command;
  json["machine"] = describe_machine(pair.threads);
  json["engine"] = pair.engine;
  json["models"] = {{"large", pair.large.name}, {"small", pair.small.name}};
  json["notes"] = OrderedJson::array();
  return json;
}

void add_output_flags(CLI::App& app, OutputFlags& flags) {
  app.add_flag("--json", flags.json, "print one JSON object")->group("Output");
  app.add_flag("--markdown", flags.markdown, "print a Markdown table")->group("Output");
  app.add_flag("--csv", flags.csv, "print a table for spreadsheets")->group("Output");
  app.add_option("--report", flags.report, "write a report, one HTML file that needs nothing else")
      ->group("Output")
      ->type_name("FILE");
}

Status check_output_flags(const OutputFlags& flags) {
  if (int{flags.json} + int{flags.markdown} + int{flags.csv} > 1)
    return fail(ErrorKind::usage, "--json, --markdown and --csv exclude each other", "give one of them");
  return std::monostate{};
}

Status show_result(const OrderedJson& json, std::string_view text, const OutputFlags& flags) {
  if (flags.json) {
    out("{}\n", to_line(json));
  } else if (flags.markdown) {
    out("{}", report::report_markdown(json));
  } else if (flags.csv) {
    out("{}", report::report_csv(json));
  } else {
    out("{}", text);
  }
  const Status written = flags.report.empty() ? Status() : write_report(flags.report, json);
  if (auto flushed = flush_output(); !flushed) return flushed;
  return written;
}

}  // namespace relaygen::cli
