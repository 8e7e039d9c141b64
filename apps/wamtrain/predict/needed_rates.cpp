#include "apps/wamtrain/predict/needed_rates.h"

namespace wam {

std::vector<NamedRate> rates_needed(const Spread& spread) {
  std::vector<NamedRate> out;
  if (spread.state_on_host) {
    out.push_back({"host_link_gb_s", &CardRates::host_link_gb_s});
    out.push_back({"host_optimizer_gb_s", &CardRates::host_optimizer_gb_s});
  } else {
    out.push_back({"optimizer_tb_s", &CardRates::optimizer_tb_s});
  }
  if (spread.gpus == 1) return out;
  if (spread.shard_size > 1) {
    out.push_back({"all_gather_gb_s", &CardRates::all_gather_gb_s});
    out.push_back({"reduce_scatter_gb_s", &CardRates::reduce_scatter_gb_s});
  }
  if (spread.replicas() > 1) out.push_back({"all_reduce_gb_s", &CardRates::all_reduce_gb_s});
  out.push_back({"overlap_cost", &CardRates::overlap_cost});
  out.push_back({"hop_us", &CardRates::hop_us});
  if (spread.nodes > 1) out.push_back({"node_hop_us", &CardRates::node_hop_us});
  return out;
}

}  // namespace wam
