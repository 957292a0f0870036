#include "engine/llama/machine.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace relaygen::engine {
namespace {

using std::filesystem::path;

std::optional<std::uint64_t> read_number(const path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;  // missing, or "max"
}

/// The number after `key` in a file of "key value" lines.
std::optional<std::uint64_t> read_field(const path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t value = 0;
    if (words >> name >> value && name == key) return value;
  }
  return std::nullopt;
}

/// Whether a comma-separated list has `name`; the empty name is in the empty list only.
bool lists(const std::string& list, const std::string& name) {
  if (name.empty()) return list.empty();
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    if (entry == name) return true;
  }
  return false;
}

/// The folder of this process's cgroup for a controller ("" is version 2), and the root at which to stop going up.
/// Inside a container the path in /proc is often the host's; then the root is all there is.
path cgroup_folder(const std::string& controller, const path& root) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (!lists(line.substr(first + 1, second - first - 1), controller)) continue;
    const path folder = root / path(line.substr(second + 1)).relative_path();
    std::error_code error;
    return std::filesystem::is_directory(folder, error) ? folder : root;
  }
  return root;
}

/// Calls `visit` for a cgroup folder and all above it.
template <typename Visit>
void each_cgroup(const std::string& controller, const path& root, Visit visit) {
  for (path folder = cgroup_folder(controller, root);; folder = folder.parent_path()) {
    visit(folder);
    if (folder == root || folder == folder.root_path() || folder.empty()) return;
  }
}

/// What a limited group has left; page cache that the kernel can drop counts as free.
std::uint64_t left(std::uint64_t limit, std::uint64_t used, std::uint64_t reclaimable) {
  used -= std::min(used, reclaimable);
  return limit - std::min(limit, used);
}

std::int32_t physical_cores() {
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  std::set<std::string> cores;  // one entry a group of hyperthreads
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (known && !CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream in("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    if (std::string line; std::getline(in, line)) cores.insert(line);
  }
  if (!cores.empty()) return static_cast<std::int32_t>(cores.size());
  if (known && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
#endif
  return std::max(1, static_cast<std::int32_t>(std::thread::hardware_concurrency()));
}

}  // namespace

std::int32_t usable_cores() {
  double cores = physical_cores();
  each_cgroup("", "/sys/fs/cgroup", [&](const path& folder) {  // version 2: "quota period" or "max period"
    std::ifstream in(folder / "cpu.max");
    double quota = 0, period = 0;
    if (in >> quota >> period && quota > 0 && period > 0) cores = std::min(cores, quota / period);
  });
  each_cgroup("cpu", "/sys/fs/cgroup/cpu", [&](const path& folder) {
    const auto quota = read_number(folder / "cpu.cfs_quota_us"), period = read_number(folder / "cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *quota < 1'000'000'000'000 && *period > 0) {  // -1: no quota
      cores = std::min(cores, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  });
  return std::max(1, static_cast<std::int32_t>(std::ceil(cores)));
}

std::uint64_t available_memory() {
  std::uint64_t available = read_field("/proc/meminfo", "MemAvailable:").value_or(0) * 1024;
  if (available == 0) return 0;
  each_cgroup("", "/sys/fs/cgroup", [&](const path& folder) {
    const auto limit = read_number(folder / "memory.max"), used = read_number(folder / "memory.current");
    if (!limit || !used) return;
    available =
        std::min(available, left(*limit, *used, read_field(folder / "memory.stat", "inactive_file").value_or(0)));
  });
  each_cgroup("memory", "/sys/fs/cgroup/memory", [&](const path& folder) {
    const auto limit = read_number(folder / "memory.limit_in_bytes"),
               used = read_number(folder / "memory.usage_in_bytes");
    if (!limit || !used) return;
    available =
        std::min(available, left(*limit, *used, read_field(folder / "memory.stat", "total_inactive_file").value_or(0)));
  });
  return available;
}

}  // namespace relaygen::engine
