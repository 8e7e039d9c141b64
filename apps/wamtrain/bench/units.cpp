#include "apps/wamtrain/bench/units.h"

#include <algorithm>
#include <map>

#include "apps/wamtrain/bench/synthetic.h"
#include "parallel/strategies/assumed_shard.h"
#include "parallel/strategies/sharded_units.h"

namespace wam {

std::unique_ptr<Sharding> make_bench_units(std::vector<UnitSpec> specs, const BenchUnits& options) {
  if (options.state == HoldsState::kNo) {
    for (auto& spec : specs) spec.state_arrays.clear();
  }
  std::unique_ptr<Sharding> out;
  if (options.assume_world > 1) {
    out = std::make_unique<AssumedShard>(
        specs, AssumedShard::Options{.device = options.device,
                                     .compute_type = options.compute_type,
                                     .state_on_host = options.state_on_host,
                                     .world = static_cast<int>(options.assume_world)});
  } else {
    out = std::make_unique<ShardedUnits>(
        specs, ShardedUnits::Options{.device = options.device,
                                     .compute_type = options.compute_type,
                                     .state_on_host = options.state_on_host});
  }
  fill_units(*out);
  return out;
}

std::int64_t buffer_bytes(Sharding& sharding) {
  std::map<const void*, std::int64_t> buffers;
  const auto add = [&](const at::Tensor& flat) {
    if (!flat.defined() || flat.numel() == 0) return;
    std::int64_t& bytes = buffers[flat.const_data_ptr()];
    bytes = std::max(bytes, static_cast<std::int64_t>(flat.nbytes()));
  };
  for (Unit& unit : sharding.units()) {
    add(unit.compute());
    add(unit.gradient());
    for (const auto& [name, array] : unit.states()) add(array);
  }
  std::int64_t sum = 0;
  for (const auto& [place, bytes] : buffers) sum += bytes;
  return sum;
}

}  // namespace wam
