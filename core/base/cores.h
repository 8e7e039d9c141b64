#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wam {

// Cores of this machine (hardware threads), by the numbers that the kernel gives them.
using Cores = std::vector<int>;

// Lists as the kernel writes them: "0-3,8" is 0 1 2 3 8. Nothing for what is no such list.
std::optional<Cores> parse_cores(std::string_view text);
std::string cores_text(const Cores& ascending);
// Such a list in a file of sysfs; nothing where it is absent, empty or no list.
std::optional<Cores> read_cores(const std::filesystem::path& file);

// On which this process may run: its mask, ascending.
Cores allowed_cores();
// On which a process of this job could run with the widest mask: those that are online and in the
// cpuset of its control group, ascending.
Cores reachable_cores();
// How many cores' time this process's control group may use, all its processes together; nothing
// where it has no quota. A container's --cpus is such a quota, which no mask shows.
std::optional<double> cpu_quota();
// The same from the files of a hierarchy, of either version: the least of `group` and all around
// it.
std::optional<double> cpu_quota_in(const std::filesystem::path& hierarchy, std::string_view group);
// The same cores in an order in which the threads of one physical core are neighbours.
Cores by_physical_core(Cores cores);

// Restricts every thread of this process, and those that they start. Errors: DeviceError.
void pin_process(const Cores& cores);

// How many cores one of `ranks` processes of a host may count on.
struct CoreShare {
  int cores = 1;      // by its mask
  int fair = 1;       // by an equal division of the reachable ones
  bool whole = true;  // the mask holds all that are reachable: no launcher has divided them
};
// A mask that is too wide to be this rank's alone is shared with others: the equal part counts. So
// is a quota.
CoreShare share_of_cores(std::size_t allowed,
                         std::size_t reachable,
                         int ranks,
                         std::optional<double> quota);

}  // namespace wam
