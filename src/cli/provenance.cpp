#include "cli/provenance.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

namespace relaygen::cli {
namespace {

std::string command_line;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string quoted(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,=:+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string result = "'";
  for (const char c : word) c == '\'' ? result += "'\\''" : result += c;
  return result + "'";
}

}  // namespace

void remember_command(int argc, const char* const* argv) {
  command_line = "relaygen";
  for (int i = 1; i < argc; ++i) command_line += " " + quoted(argv[i]);
}

OrderedJson provenance(std::string_view kind, const PairInfo* pair) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  OrderedJson json{{"kind", kind}, {"title", ""}};
  json["created"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  json["program"] = fmt::format("relaygen {}", RELAYGEN_VERSION);
  json["command"] = command_line;
  json["machine"] = {{"cpu", processor()}, {"cores", std::thread::hardware_concurrency()}};
  json["machine"]["threads"] = pair == nullptr ? OrderedJson(nullptr) : OrderedJson(pair->threads);
  json["models"] = {{"large", pair == nullptr ? "" : pair->large.name},
                    {"small", pair == nullptr ? "" : pair->small.name}};
  json["notes"] = OrderedJson::array();
  return json;
}

}  // namespace relaygen::cli
