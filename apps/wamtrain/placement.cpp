#include "apps/wamtrain/placement.h"

#include "core/cuda/device.h"
#include "parallel/launch/placement.h"

namespace wam {
namespace {

// Of each local rank's GPU. Where a rank sees its own GPU only, nothing is known of the others'.
std::vector<Cores> cores_near_gpus(const LaunchEnv& env, c10::Device device) {
  if (!device.is_cuda()) return {};
  const std::vector<std::string> ids = gpu_bus_ids();
  if (ids.size() < static_cast<std::size_t>(env.local_world_size)) return {};
  std::vector<Cores> near;
  for (int rank = 0; rank < env.local_world_size; ++rank) {
    const auto& id = ids[static_cast<std::size_t>(rank)];
    near.push_back(read_cores("/sys/bus/pci/devices/" + id + "/local_cpulist").value_or(Cores()));
  }
  return near;
}

}  // namespace

void place_on_cores(const ResolvedRecipe& recipe,
                    const LaunchEnv& env,
                    c10::Device device,
                    Log& log) {
  const bool pins =
      recipe.options.run.pin == PinChoice::kAuto && env.local_world_size > 1 && recipe.cores.whole;
  if (pins) {
    pin_process(cores_of_rank(by_physical_core(allowed_cores()), cores_near_gpus(env, device),
                              env.local_world_size, env.local_rank));
  }
  const auto quota = cpu_quota();
  log.info(fmt::format("cores: {}{}{}; threads: {}, workers: {}", cores_text(allowed_cores()),
                       pins ? fmt::format(" of {} (run.pin)", cores_text(reachable_cores())) : "",
                       quota ? fmt::format(", a quota of {:.3g} for all processes", *quota) : "",
                       recipe.threads, recipe.data.workers));
  if (env.global_rank != 0) return;
  const auto advice =
      narrow_mask_advice(env.launcher, recipe.cores, static_cast<int>(recipe.busy_threads));
  if (advice) log.warn("cores: " + *advice);
}

}  // namespace wam
