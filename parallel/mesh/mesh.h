#pragma once

#include <chrono>

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include "core/cuda/device_counter.h"
#include "parallel/collectives/axis.h"
#include "parallel/launch/launch_env.h"
#include "parallel/strategies/layout.h"
#include "parallel/watch/progress.h"

namespace c10d {
class Store;
}

namespace wam {

struct MeshOptions {
  c10::Device device = c10::kCPU;  // NCCL between GPUs, Gloo between CPUs
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);  // of one collective on the CPU
  // Told of every collective; on a GPU the counter counts those that are complete (make_watched).
  Progress* progress = nullptr;
  DeviceCounter* counter = nullptr;
};

// Connects the groups of ranks that a layout wants. All ranks call it together; with one rank there
// is nothing to connect. `store`, progress and counter must outlive what comes back. Errors:
// CommError.
MeshAxes connect_mesh(const Layout& layout,
                      const LaunchEnv& env,
                      const c10::intrusive_ptr<c10d::Store>& store,
                      const MeshOptions& options);

// The same groups around the rank `rank` of the world, without the others (absent_ranks.h).
MeshAxes absent_mesh(const Layout& layout, int rank);

}  // namespace wam
