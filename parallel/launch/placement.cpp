#include "parallel/launch/placement.h"

#include <algorithm>
#include <map>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr int kFree = -1;

// Cores and who has them.
class Division {
 public:
  Division(const Cores& all, std::size_t ranks)
      : all_(all), owner_(all.size(), kFree), missing_(ranks, all.size() / ranks) {}

  // Each of these ranks gets an equal part of the free cores among `near`, in their order.
  void divide(const Cores& near, const std::vector<std::size_t>& ranks) {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool is_near = std::find(near.begin(), near.end(), all_[i]) != near.end();
      if (owner_[i] == kFree && is_near) free.push_back(i);
    }
    std::size_t next = 0;
    for (const std::size_t rank : ranks) {
      const std::size_t part = std::min(missing_[rank], free.size() / ranks.size());
      for (std::size_t i = 0; i < part; ++i) give(free[next++], rank);
    }
  }

  // Each rank gets what it still misses.
  void fill() {
    std::size_t rank = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      while (rank < missing_.size() && missing_[rank] == 0) ++rank;
      if (rank == missing_.size()) return;
      if (owner_[i] == kFree) give(i, rank);
    }
  }

  [[nodiscard]] Cores of(int rank) const {
    Cores cores;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (owner_[i] == rank) cores.push_back(all_[i]);
    }
    std::sort(cores.begin(), cores.end());
    return cores;
  }

 private:
  void give(std::size_t position, std::size_t rank) {
    owner_[position] = static_cast<int>(rank);
    --missing_[rank];
  }

  const Cores& all_;
  std::vector<int> owner_;
  std::vector<std::size_t> missing_;
};

std::string fix_of(Launcher launcher, int cores) {
  switch (launcher) {
    case Launcher::kOpenMpi:
      return fmt::format(
          "start mpirun with --bind-to none (run.pin then gives each rank its cores), or with "
          "--map-by slot:PE={}",
          cores);
    case Launcher::kSlurm:
      return fmt::format("start srun with --cpus-per-task={}, or with --cpu-bind=none", cores);
    case Launcher::kMpich:
      return "start mpiexec with -bind-to none";
    case Launcher::kTorchrun:
      return "start torchrun without a mask of its own (taskset, numactl)";
    case Launcher::kNone:
      break;
  }
  return {};
}

}  // namespace

Cores cores_of_rank(const Cores& all, const std::vector<Cores>& near, int ranks, int local_rank) {
  if (all.size() < static_cast<std::size_t>(ranks)) {
    Cores cores = all;
    std::sort(cores.begin(), cores.end());
    return cores;
  }
  std::map<Cores, std::vector<std::size_t>> ranks_near;
  for (std::size_t rank = 0; rank < near.size(); ++rank) {
    if (!near[rank].empty()) ranks_near[near[rank]].push_back(rank);
  }
  Division division(all, static_cast<std::size_t>(ranks));
  for (const auto& [cores, neighbours] : ranks_near) division.divide(cores, neighbours);
  division.fill();
  return division.of(local_rank);
}

int gpu_of_rank(std::size_t visible, int local_rank, int local_world_size) {
  if (visible == 1) return 0;
  require<DeviceError>(
      static_cast<std::size_t>(local_rank) < visible,
      "choosing a GPU: the rank sees {} GPUs, and is number {} of {} on its host, counted from 0. "
      "Fix: start one rank a GPU; a launcher that gives each rank its own must give it one.",
      visible, local_rank, local_world_size);
  return local_rank;
}

std::optional<std::string> shared_gpu(const std::vector<std::string>& gpus) {
  std::map<std::string, std::size_t> rank_with;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const auto [first, is_new] = rank_with.emplace(gpus[rank], rank);
    if (is_new) continue;
    return fmt::format(
        "choosing GPUs: ranks {} and {} have the same one, {}. Fix: start one rank a GPU, or let "
        "the launcher show each rank another one.",
        first->second, rank, gpus[rank]);
  }
  return std::nullopt;
}

std::optional<std::string> scattered_groups_advice(const std::vector<std::string>& hosts,
                                                   int group) {
  const auto size = static_cast<std::size_t>(group);
  if (size == hosts.size()) return std::nullopt;
  std::map<std::string, std::size_t> ranks_on;
  for (const std::string& host : hosts) ++ranks_on[host];
  const bool all_divide = std::all_of(ranks_on.begin(), ranks_on.end(),
                                      [&](const auto& host) { return host.second % size == 0; });
  if (!all_divide) return std::nullopt;
  for (std::size_t first = 0; first < hosts.size(); first += size) {
    for (std::size_t rank = first + 1; rank < first + size; ++rank) {
      if (hosts[rank] == hosts[first]) continue;
      return fmt::format(
          "ranks {} and {} are of one group of shards and on two hosts, {} and {}: weights travel "
          "over the network, where they could stay inside a host. Fix: fill a host with ranks "
          "before the next one (mpirun --map-by slot, srun --distribution=block).",
          first, rank, hosts[first], hosts[rank]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> narrow_mask_advice(Launcher launcher,
                                              const CoreShare& share,
                                              int wanted) {
  const int usable = std::min(wanted, share.fair);
  if (launcher == Launcher::kNone || share.cores >= usable) return std::nullopt;
  return fmt::format(
      "a rank may use {} of the host's cores, where its part is {} and {} would be busy: decoding "
      "and arithmetic will wait for each other. Fix: {}.",
      share.cores, share.fair, usable, fix_of(launcher, usable));
}

}  // namespace wam
