#pragma once

#include <memory>
#include <string>

#include "core/train/collectives.h"

namespace wam {

// A group of ranks that communicate: one line of the mesh along one of its axes.
struct Axis {
  std::string name;     // "world", "shard", "replicate"; for messages
  int size = 1;         // ranks in the group
  int rank = 0;         // this one among them
  int group = 0;        // which of the axis's groups this is
  int global_rank = 0;  // this rank in the world; for messages
};

// What a strategy communicates over: shards of one unit lie on the ranks of `shards`, equal shards
// on those of `replicas`, and `world` is all ranks. Null: this rank alone.
struct MeshAxes {
  std::shared_ptr<Collectives> world;
  std::shared_ptr<Collectives> shards;
  std::shared_ptr<Collectives> replicas;
};

}  // namespace wam
