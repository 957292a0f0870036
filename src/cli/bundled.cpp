#include "cli/bundled.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace relaygen::cli {

Result<std::filesystem::path> bundled_folder() {
  std::vector<std::filesystem::path> places;
  if (const char* place = std::getenv("RELAYGEN_DATA"); place != nullptr && *place != '\0') {
    places.emplace_back(place);
  } else {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
      const auto folder = program.parent_path();
      places = {folder / "../..", folder / "../share/relaygen", folder};
    }
  }
  std::vector<std::string> tried;
  for (const auto& place : places) {
    std::error_code error;
    if (std::filesystem::exists(place / "models/demo/relaygen-demo-large.gguf", error)) return place.lexically_normal();
    tried.push_back(place.lexically_normal().string());
  }
  return fail(ErrorKind::bad_model, fmt::format("the bundled pair is not in {}", fmt::join(tried, " or ")),
              "set RELAYGEN_DATA to the folder that holds models/demo and profiles, or give -m and -ms");
}

Result<BundledProblem> bundled_problem() {
  auto folder = bundled_folder();
  if (!folder) return tl::unexpected(folder.error());
  const auto file = *folder / "models/demo/problems.heldout.jsonl";
  std::ifstream stream(file);
  std::string line;
  if (std::getline(stream, line)) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("question"))
      return BundledProblem{json.value("id", ""), json.value("question", ""), json.value("answer", "")};
  }
  return fail(ErrorKind::bad_input, fmt::format("{} holds no problems", file.string()),
              "get a fresh copy of models/demo, or give a prompt");
}

}  // namespace relaygen::cli
