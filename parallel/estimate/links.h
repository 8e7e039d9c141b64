#pragma once

#include "parallel/estimate/spread.h"

namespace wam {

enum class CollectiveKind { kAllGather, kReduceScatter, kAllReduce };

// Rates of a GPU's links, in GB (1e9 bytes) that it sends in a second.
struct LinkRates {
  // Between the GPUs of a node.
  double all_gather_gb_s = 0;
  double reduce_scatter_gb_s = 0;
  double all_reduce_gb_s = 0;
  double node_gb_s = 0;   // between nodes, each GPU's own share of the network
  double host_gb_s = 0;   // from host memory to the GPU
  double hop_s = 0;       // from one rank of a ring to the next, inside a node
  double node_hop_s = 0;  // and between nodes
};

// Time of one collective over a buffer of `bytes` (whole, not the shard).
//
// Ranks form rings. Between nodes a ring crosses the network once a node, and a group with several
// GPUs on a node runs as many rings, each over another GPU's network card: it has their rates
// together, as long as NVLink keeps up. A lone rank of a node has its own card's.
double collective_s(CollectiveKind kind,
                    double bytes,
                    const RankGroup& group,
                    const LinkRates& rates);

}  // namespace wam
