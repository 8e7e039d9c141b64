#include "parallel/mesh/mesh.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "parallel/collectives/absent_ranks.h"
#include "parallel/collectives/gloo_collectives.h"
#include "parallel/launch/addresses.h"
#include "parallel/watch/watched_collectives.h"
#ifdef WAM_WITH_CUDA
#include "parallel/collectives/nccl_collectives.h"
#endif

namespace wam {
namespace {

// Where this host is reached by the others: over the loopback interface where all ranks are here.
GlooOptions gloo_options(const LaunchEnv& env, const MeshOptions& options) {
  GlooOptions out{.time_limit = options.time_limit, .address = {}, .interface = {}};
  if (const auto named = process_environment()("GLOO_SOCKET_IFNAME")) {
    out.interface = *named;
  } else if (env.local_world_size == env.world_size) {
    out.interface = "lo";
  } else {
    out.address = own_addresses().front();
  }
  return out;
}

std::unique_ptr<Collectives> connect_axis(const Axis& axis,
                                          const LaunchEnv& env,
                                          const c10::intrusive_ptr<c10d::Store>& store,
                                          const MeshOptions& options) {
#ifdef WAM_WITH_CUDA
  if (options.device.is_cuda()) return make_nccl_collectives(axis, store, options.device);
#endif
  invariant(options.device.is_cpu(), "a mesh of GPUs in a build without them");
  return make_gloo_collectives(axis, store, gloo_options(env, options));
}

// `connect(axis)` for each group of the layout that `rank` is in.
template <class Connect>
MeshAxes axes_of(const Layout& layout, int rank, const Connect& connect) {
  const auto axis = [&](const char* name, int size, int rank_on_it, int group) {
    return std::shared_ptr<Collectives>(connect(
        Axis{.name = name, .size = size, .rank = rank_on_it, .group = group, .global_rank = rank}));
  };
  MeshAxes axes;
  if (layout.world == 1) return axes;
  axes.world = axis("world", layout.world, rank, 0);
  if (layout.shard_ranks == layout.world) {
    axes.shards = axes.world;
  } else if (layout.replicas() == layout.world) {
    axes.replicas = axes.world;
  } else {
    const int shard = rank % layout.shard_ranks;
    const int replica = rank / layout.shard_ranks;
    axes.shards = axis("shard", layout.shard_ranks, shard, replica);
    axes.replicas = axis("replicate", layout.replicas(), replica, shard);
  }
  return axes;
}

}  // namespace

MeshAxes connect_mesh(const Layout& layout,
                      const LaunchEnv& env,
                      const c10::intrusive_ptr<c10d::Store>& store,
                      const MeshOptions& options) {
  invariant(layout.world == 1 || options.progress != nullptr, "a mesh that nobody watches");
  return axes_of(layout, env.global_rank, [&](const Axis& axis) {
    return make_watched(connect_axis(axis, env, store, options), axis.name, *options.progress,
                        options.counter);
  });
}

MeshAxes absent_mesh(const Layout& layout, int rank) {
  return axes_of(layout, rank, [](const Axis& axis) {
    return std::make_unique<AbsentRanks>(axis.size, axis.rank);
  });
}

}  // namespace wam
