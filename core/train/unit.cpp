#include "core/train/unit.h"

#include <algorithm>

#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/cuda/pinned.h"

namespace wam {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::int64_t TensorSpec::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::size_t UnitSpec::index_of(const std::string& tensor_name) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == tensor_name) return i;
  }
  throw InvariantError(fmt::format("unit {} has no tensor {}", name, tensor_name));
}

UnitSpec make_unit(std::string name, std::vector<TensorSpec> tensors) {
  UnitSpec unit;
  unit.name = std::move(name);
  std::stable_partition(tensors.begin(), tensors.end(),
                        [](const TensorSpec& t) { return t.trainable; });
  std::int64_t at = 0;
  for (auto& tensor : tensors) {
    tensor.offset = at;
    at += round_up(tensor.numel(), kUnitAlignment);
    if (tensor.trainable) unit.trainable_numel = at;
  }
  unit.numel = at;
  unit.tensors = std::move(tensors);
  return unit;
}

std::int64_t padded_numel(const UnitSpec& unit, int num_shards) {
  return num_shards * shard_range(unit, 0, num_shards).piece;
}

ShardRange shard_range(const UnitSpec& unit, int shard_idx, int num_shards) {
  ShardRange range;
  range.piece = round_up((unit.trainable_numel + num_shards - 1) / num_shards, kUnitAlignment);
  range.begin = std::min(unit.trainable_numel, range.piece * shard_idx);
  range.end = std::min(unit.trainable_numel, range.begin + range.piece);
  return range;
}

Unit::Unit(UnitSpec spec, const UnitPlacement& placement)
    : spec_(std::move(spec)),
      placement_(placement),
      shard_(shard_range(spec_, placement.shard_idx, placement.num_shards)),
      frozen_(at::zeros({spec_.numel - spec_.trainable_numel},
                        at::TensorOptions(placement.device).dtype(placement.compute_type))) {}

void Unit::allocate_compute() {
  if (compute_.defined()) return;
  compute_ = at::zeros({padded_numel(spec_, placement_.num_shards)},
                       at::TensorOptions(placement_.device).dtype(placement_.compute_type));
}

void Unit::allocate_gradient() {
  if (gradient_.defined()) return;
  gradient_ = at::zeros({padded_numel(spec_, placement_.num_shards)},
                        at::TensorOptions(placement_.device).dtype(placement_.state_type));
}

void Unit::allocate_state() {
  for (const auto& array : spec_.state_arrays) {
    at::Tensor& state = states_[array];
    if (state.defined()) continue;
    if (placement_.state_on_host) {
      state = host_buffer({shard_.numel()}, placement_.state_type, placement_.device);
    } else {
      state = at::zeros({shard_.numel()},
                        at::TensorOptions(placement_.device).dtype(placement_.state_type));
    }
  }
}

at::Tensor& Unit::state(const std::string& array) {
  const auto found = states_.find(array);
  require<InvariantError>(found != states_.end(), "unit {} holds no state array {}", spec_.name,
                          array);
  return found->second;
}

at::Tensor Unit::weight(std::size_t tensor_idx) const {
  const TensorSpec& t = spec_.tensors.at(tensor_idx);
  if (!t.trainable) {
    return frozen_.narrow(0, t.offset - spec_.trainable_numel, t.numel()).view(t.shape);
  }
  return compute_.narrow(0, t.offset, t.numel()).view(t.shape);
}

at::Tensor Unit::weight_gradient(std::size_t tensor_idx) const {
  const TensorSpec& t = spec_.tensors.at(tensor_idx);
  if (!t.trainable) return {};
  return gradient_.narrow(0, t.offset, t.numel()).view(t.shape);
}

}  // namespace wam
