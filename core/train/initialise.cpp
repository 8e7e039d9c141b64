#include "core/train/initialise.h"

#include <algorithm>
#include <set>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"

namespace wam {
namespace {

void initialise_tensor(const Model& model, Unit& unit, std::size_t idx, std::uint64_t seed) {
  const TensorSpec& spec = unit.spec().tensors[idx];
  const auto& placement = unit.placement();
  const auto type = spec.trainable ? placement.state_type : placement.compute_type;
  const at::Tensor values = at::empty(spec.shape, at::TensorOptions().dtype(type));
  model.initialise(spec, seed, values);
  if (!spec.trainable) {
    unit.weight(idx).copy_(values);
    return;
  }
  const ShardRange& shard = unit.shard();
  const std::int64_t begin = std::max(spec.offset, shard.begin);
  const std::int64_t end = std::min(spec.offset + spec.numel(), shard.end);
  if (begin >= end) return;
  unit.state("master")
      .narrow(0, begin - shard.begin, end - begin)
      .copy_(values.view({-1}).narrow(0, begin - spec.offset, end - begin));
}

}  // namespace

void initialise_units(const Model& model, std::vector<Unit>& units, std::uint64_t seed) {
  for (auto& unit : units) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      initialise_tensor(model, unit, i, seed);
    }
  }
}

void initialise_units(const Model& model,
                      std::vector<Unit>& units,
                      std::uint64_t seed,
                      const std::vector<std::string>& names) {
  std::set<std::string> wanted(names.begin(), names.end());
  for (auto& unit : units) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      if (wanted.erase(unit.spec().tensors[i].name) == 0) continue;
      initialise_tensor(model, unit, i, seed);
    }
  }
  require<InvariantError>(wanted.empty(), "initialising {}, which no unit has",
                          wanted.empty() ? "" : *wanted.begin());
}

}  // namespace wam
