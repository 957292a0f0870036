#include "cli/cost_printing.h"

#include <fmt/format.h>

namespace relaygen::cli {
namespace {

std::string off(double actual, double predicted) {
  return predicted > 0 ? fmt::format("{:+.1f}%", 100 * (actual / predicted - 1)) : "";
}

}  // namespace

std::string parts_table(const PartTimes& actual, const PartTimes& ideal, double other) {
  std::string table =
      fmt::format("  {:<14}{:>9}{:>9}{:>12}{:>12}{:>9}\n", "part", "batches", "rows", "predicted", "actual", "off");
  for (const Part part : kParts) {
    const auto& [batches, rows, seconds] = actual[part];
    if (batches == 0) continue;
    table += fmt::format("  {:<14}{:>9}{:>9}{:>12.4f}{:>12.4f}{:>9}\n", name(part), batches, rows, ideal[part].seconds,
                         seconds, off(seconds, ideal[part].seconds));
  }
  table += fmt::format("  {:<14}{:>9}{:>9}{:>12}{:>12.4f}\n", "other", "", "", "", other);
  const double all = actual.seconds() + other;
  table += fmt::format("  {:<14}{:>9}{:>9}{:>12.4f}{:>12.4f}{:>9}\n", "all", "", "", ideal.seconds(), all,
                       off(all, ideal.seconds()));
  return table;
}

}  // namespace relaygen::cli
