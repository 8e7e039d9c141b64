#include "parallel/strategies/make_sharding.h"

#include "core/base/errors.h"
#include "parallel/strategies/no_shard.h"

namespace wam {

std::unique_ptr<Sharding> make_sharding(ShardingStrategy strategy,
                                        const std::vector<UnitSpec>& units,
                                        const ShardingOptions& options) {
  switch (strategy) {
    case ShardingStrategy::kNoShard:
      return std::make_unique<NoShard>(
          units, NoShard::Options{.device = options.device, .compute_type = options.compute_type});
  }
  throw InvariantError("a sharding strategy without an implementation");
}

}  // namespace wam
