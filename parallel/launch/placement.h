#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/cores.h"
#include "parallel/launch/launch_env.h"

namespace wam {

// The cores of one of the ranks of a host, which divide `all` (ordered by physical core) equally
// among them: first those near its GPU, which it divides with the ranks that have the same ones
// near, then what is left over. `near`: by local rank; a rank without an entry is near none. Every
// rank of the host comes to the same division. All of them where there are fewer cores than ranks.
// Ascending.
Cores cores_of_rank(const Cores& all, const std::vector<Cores>& near, int ranks, int local_rank);

// The index of the rank's GPU among those that it sees: that of its local rank or, where it sees
// one alone (srun --gpus-per-task, CUDA_VISIBLE_DEVICES of its own), that one. Errors: DeviceError
// where there are fewer than local ranks.
int gpu_of_rank(std::size_t visible, int local_rank, int local_world_size);

// What is wrong where two ranks have the same GPU; nothing where each has its own. `gpus`: by rank,
// the host and where the GPU sits on it.
std::optional<std::string> shared_gpu(const std::vector<std::string>& gpus);

// What to tell the user where groups of `group` consecutive ranks lie on several hosts, though each
// host has room for one; nothing where none does, or there is one group. `hosts`: by rank.
std::optional<std::string> scattered_groups_advice(const std::vector<std::string>& hosts,
                                                   int group);

// What to tell the user whose launcher left a rank fewer cores than it could use; nothing where it
// left enough, or where no launcher was there. `share`: share_of_cores; `wanted`: threads that will
// run.
std::optional<std::string> narrow_mask_advice(Launcher launcher,
                                              const CoreShare& share,
                                              int wanted);

}  // namespace wam
