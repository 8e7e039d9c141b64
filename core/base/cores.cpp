#include "core/base/cores.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include <sched.h>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr int kMaxCores = 8192;

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;

std::size_t set_bytes() {
  return CPU_ALLOC_SIZE(kMaxCores);
}

CpuSet empty_set() {
  CpuSet set(CPU_ALLOC(kMaxCores));
  invariant(set != nullptr, "memory for a set of cores");
  CPU_ZERO_S(set_bytes(), set.get());
  return set;
}

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value >= 0 && value < kMaxCores ? std::optional(value) : std::nullopt;
}

// This process's control group in each hierarchy that has `controller`: where the hierarchy is
// mounted, and the group's path in it. Version 2 has one hierarchy for all.
std::vector<std::pair<std::filesystem::path, std::string>> control_groups(
    std::string_view controller) {
  std::vector<std::pair<std::filesystem::path, std::string>> out;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::filesystem::path mounts("/sys/fs/cgroup");
    const std::string path = line.substr(second + 1);
    if (kinds == ",,") {
      out.emplace_back(mounts, path);
    } else if (kinds.find(fmt::format(",{},", controller)) != std::string::npos) {
      out.emplace_back(mounts / controller, path);
    }
  }
  return out;
}

// Cores that this process's control group has; nothing where it has no such limit.
std::optional<Cores> cores_of_control_group() {
  for (const auto& [hierarchy, group] : control_groups("cpuset")) {
    for (const char* file : {"cpuset.cpus.effective", "cpuset.effective_cpus"}) {
      if (auto cores = read_cores(hierarchy / group.substr(1) / file)) return cores;
    }
  }
  return std::nullopt;
}

// "200000 100000" (microseconds in each period), "max 100000" or, in two files, -1: no quota.
std::optional<double> quota_of_group(const std::filesystem::path& group) {
  double quota = -1;
  double period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period) return quota / period;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

}  // namespace

std::optional<Cores> parse_cores(std::string_view text) {
  Cores cores;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int core = *first; core <= *last; ++core) cores.push_back(core);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (cores.empty()) return std::nullopt;
  return cores;
}

std::string cores_text(const Cores& ascending) {
  std::string out;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!out.empty()) out += ",";
    out += last == i ? std::to_string(ascending[i])
                     : fmt::format("{}-{}", ascending[i], ascending[last]);
    i = last + 1;
  }
  return out;
}

std::optional<Cores> read_cores(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return parse_cores(line);
}

Cores allowed_cores() {
  const CpuSet set = empty_set();
  const int result = ::sched_getaffinity(0, set_bytes(), set.get());
  require<DeviceError>(result == 0, "asking for the cores of this process: {}.",
                       std::strerror(errno));
  Cores cores;
  for (int core = 0; core < kMaxCores; ++core) {
    if (CPU_ISSET_S(static_cast<std::size_t>(core), set_bytes(), set.get())) cores.push_back(core);
  }
  return cores;
}

Cores reachable_cores() {
  const Cores online = read_cores("/sys/devices/system/cpu/online").value_or(allowed_cores());
  const auto group = cores_of_control_group();
  if (!group) return online;
  Cores both;
  std::set_intersection(online.begin(), online.end(), group->begin(), group->end(),
                        std::back_inserter(both));
  return both.empty() ? online : both;
}

std::optional<double> cpu_quota_in(const std::filesystem::path& hierarchy, std::string_view group) {
  std::optional<double> least;
  std::filesystem::path around(group);
  for (;; around = around.parent_path()) {
    const auto quota = quota_of_group(hierarchy / around.relative_path());
    if (quota && (!least || *quota < *least)) least = quota;
    if (around.relative_path().empty()) return least;
  }
}

std::optional<double> cpu_quota() {
  for (const auto& [hierarchy, group] : control_groups("cpu")) {
    if (const auto quota = cpu_quota_in(hierarchy, group)) return quota;
  }
  return std::nullopt;
}

Cores by_physical_core(Cores cores) {
  std::vector<std::pair<int, int>> order;  // the first thread of its physical core, and itself
  for (const int core : cores) {
    const auto siblings = read_cores(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", core));
    order.emplace_back(siblings ? siblings->front() : core, core);
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < cores.size(); ++i) cores[i] = order[i].second;
  return cores;
}

void pin_process(const Cores& cores) {
  const CpuSet set = empty_set();
  for (const int core : cores) CPU_SET_S(static_cast<std::size_t>(core), set_bytes(), set.get());
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto id = static_cast<pid_t>(std::stol(thread.path().filename().string()));
    // One that has ended meanwhile needs no core.
    const bool ok = ::sched_setaffinity(id, set_bytes(), set.get()) == 0 || errno == ESRCH;
    require<DeviceError>(ok, "pinning this process to cores {}: {}.", cores_text(cores),
                         std::strerror(errno));
  }
}

CoreShare share_of_cores(std::size_t allowed,
                         std::size_t reachable,
                         int ranks,
                         std::optional<double> quota) {
  const auto count = static_cast<std::size_t>(ranks);
  const auto paid = quota ? static_cast<std::size_t>(std::max(1.0, *quota)) : reachable;
  const std::size_t fair = std::max<std::size_t>(1, std::min(paid, reachable) / count);
  const bool shared = allowed * count > std::min(paid, reachable);
  const std::size_t own = shared ? std::min(allowed, fair) : allowed;
  return {.cores = static_cast<int>(std::max<std::size_t>(1, own)),
          .fair = static_cast<int>(fair),
          .whole = allowed >= reachable};
}

}  // namespace wam
