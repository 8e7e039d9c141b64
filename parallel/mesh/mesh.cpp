#include "parallel/mesh/mesh.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
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

}  // namespace

MeshAxes connect_mesh(const Layout& layout,
                      const LaunchEnv& env,
                      const c10::intrusive_ptr<c10d::Store>& store,
                      const MeshOptions& options) {
  MeshAxes axes;
  if (layout.world == 1) return axes;
  invariant(options.progress != nullptr, "a mesh that nobody watches");
  const int rank = env.global_rank;
  const auto connect = [&](const char* name, int size, int rank_on_it, int group) {
    const Axis axis{
        .name = name, .size = size, .rank = rank_on_it, .group = group, .global_rank = rank};
    std::shared_ptr<Collectives> connected = make_watched(connect_axis(axis, env, store, options),
                                                          name, *options.progress, options.counter);
    return connected;
  };
  axes.world = connect("world", layout.world, rank, 0);
  if (layout.shard_ranks == layout.world) {
    axes.shards = axes.world;
  } else if (layout.replicas() == layout.world) {
    axes.replicas = axes.world;
  } else {
    const int shard = rank % layout.shard_ranks;
    const int replica = rank / layout.shard_ranks;
    axes.shards = connect("shard", layout.shard_ranks, shard, replica);
    axes.replicas = connect("replicate", layout.replicas(), replica, shard);
  }
  return axes;
}

}  // namespace wam
