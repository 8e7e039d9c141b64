#include "apps/wamtrain/predict/step_time.h"

#include <algorithm>

namespace wam {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
// Of AdamW, a parameter: master, two moments and gradient read; the first three and the compute
// copy written.
constexpr double kUpdateBytes = 30;
constexpr double kGradientBytes = 4;

double optimizer_s(const CardRates& rates,
                   const std::vector<UnitLoad>& units,
                   const Spread& spread) {
  double shard = 0;
  for (const UnitLoad& unit : units) {
    shard += static_cast<double>(unit.trainable_numel) / static_cast<double>(spread.shard_size);
  }
  if (!spread.state_on_host) return kUpdateBytes * shard / (kTera * rates.optimizer_tb_s.value);
  const double down = kGradientBytes * shard / (kGiga * rates.host_link_gb_s.value);
  const double update = kUpdateBytes * shard * static_cast<double>(spread.gpus_of_a_node()) /
                        (kGiga * rates.host_optimizer_gb_s.value);
  return std::max(down, update);
}

OverlapRates overlap_rates(const CardRates& rates, double node_gb_s) {
  return {.links = {.all_gather_gb_s = rates.all_gather_gb_s.value,
                    .reduce_scatter_gb_s = rates.reduce_scatter_gb_s.value,
                    .all_reduce_gb_s = rates.all_reduce_gb_s.value,
                    .node_gb_s = node_gb_s,
                    .host_gb_s = rates.host_link_gb_s.value,
                    .hop_s = 1e-6 * rates.hop_us.value,
                    .node_hop_s = 1e-6 * rates.node_hop_us.value},
          .overlap_cost = rates.overlap_cost.value};
}

}  // namespace

StepTime step_time(const CardRates& rates,
                   const std::vector<UnitLoad>& units,
                   const Spread& spread,
                   const StepShape& shape) {
  double micro_step_s = 0;
  for (const UnitLoad& unit : units) micro_step_s += unit.forward_s + unit.backward_s;
  const OverlapRates overlap = overlap_rates(rates, shape.node_gb_s);
  return {.encoders_s = shape.encoders_s,
          .compute_s = static_cast<double>(shape.micro_steps) * micro_step_s,
          .communication = communication_of(units, spread, shape.micro_steps, overlap),
          .optimizer_s = optimizer_s(rates, units, spread)};
}

}  // namespace wam
