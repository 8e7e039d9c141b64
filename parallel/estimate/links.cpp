#include "parallel/estimate/links.h"

#include <algorithm>

#include "parallel/estimate/traffic.h"

namespace wam {
namespace {

double rate_inside(CollectiveKind kind, const LinkRates& rates) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return rates.all_gather_gb_s;
    case CollectiveKind::kReduceScatter:
      return rates.reduce_scatter_gb_s;
    case CollectiveKind::kAllReduce:
      return rates.all_reduce_gb_s;
  }
  return 0;
}

double rate_of(CollectiveKind kind, const RankGroup& group, const LinkRates& rates) {
  const double inside = rate_inside(kind, rates);
  if (group.nodes == 1) return inside;
  const double across = static_cast<double>(group.ranks_of_a_node()) * rates.node_gb_s;
  return group.ranks_of_a_node() == 1 ? across : std::min(inside, across);
}

}  // namespace

double collective_s(CollectiveKind kind,
                    double bytes,
                    const RankGroup& group,
                    const LinkRates& rates) {
  if (group.ranks == 1) return 0;
  const double rounds = kind == CollectiveKind::kAllReduce ? 2 : 1;
  const auto across = static_cast<double>(group.nodes - 1);
  const auto inside = static_cast<double>(group.ranks - group.nodes);
  const double hops = inside * rates.hop_s + across * rates.node_hop_s;
  return rounds * (1e-9 * ring_bytes(group.ranks, bytes) / rate_of(kind, group, rates) + hops);
}

}  // namespace wam
