#include "core/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "core/base/errors.h"

namespace wam {
namespace {

static_assert(kUnitAlignment == kSegmentAlignment);

bool all_finite(const at::Tensor& values) {
  return std::isfinite(values.abs().max().item<double>());
}

// The part of a tensor that lies in a shard, counted from the shard's begin; empty when none does.
FlatSegment part_in_shard(const TensorSpec& tensor, const ShardRange& shard) {
  const std::int64_t begin = std::clamp(tensor.offset, shard.begin, shard.end);
  const std::int64_t end = std::clamp(tensor.offset + tensor.numel(), shard.begin, shard.end);
  return {begin - shard.begin, end - begin};
}

std::string in_words(const Unit& unit, const TensorSpec& tensor) {
  return fmt::format("unit {}, tensor {}", unit.spec().name, tensor.name);
}

// The first tensor of the unit's master that is not finite; null when all are.
const TensorSpec* nonfinite_weight(Unit& unit) {
  const at::Tensor& master = unit.state("master");
  if (master.numel() == 0 || all_finite(master)) return nullptr;
  for (const auto& tensor : unit.spec().tensors) {
    if (!tensor.trainable) continue;
    const FlatSegment part = part_in_shard(tensor, unit.shard());
    if (part.numel == 0) continue;
    if (!all_finite(master.narrow(0, part.begin, part.numel))) return &tensor;
  }
  throw InvariantError(fmt::format("the padding of unit {} is not finite", unit.spec().name));
}

}  // namespace

AdamW::AdamW(Sharding& sharding, const AdamWOptions& options, bool replays, GraphObserver* observer)
    : sharding_(sharding), options_(options) {
  invariant(!sharding.units().empty(), "an optimizer without units");
  const auto device = sharding.units().front().placement().device;
  control_ = make_adamw_control(device);
  for (Unit& unit : sharding.units()) add_unit(unit);
  std::vector<std::int64_t> first{0};
  for (const Part& part : parts_) {
    first.push_back(first.back() + static_cast<std::int64_t>(part.table.segments.size()));
  }
  first_tensor_ = at::tensor(first, at::kLong).to(device);
  const auto doubles = at::TensorOptions(device).dtype(at::kDouble);
  result_ = {.tensor_square_sums = at::empty({first.back()}, doubles),
             .unit_square_sums = at::empty({static_cast<std::int64_t>(parts_.size())}, doubles),
             .grad_norm = at::empty({}, doubles),
             .skipped = at::empty({}, doubles)};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].square_sums = result_.tensor_square_sums.slice(0, first[i], first[i + 1]);
  }
  place_update(sharding.units().front().placement());
  // The updates that warm a recording up change nothing, but they would zero the gradients.
  invariant(!replays || !options.zero_gradients, "a replayed update that zeroes gradients");
  invariant(!replays || !offload_, "a replayed update of state on the host");
  if (replays) pool_.emplace(device, observer);
}

void AdamW::place_update(const UnitPlacement& placement) {
  if (!placement.state_on_host && !placement.device.is_cpu()) return;
  workers_.emplace(static_cast<unsigned>(at::get_num_threads()));
  if (!placement.state_on_host) return;
  std::vector<const AdamWShard*> shards;
  for (const Part& part : parts_) shards.push_back(&part.shard);
  offload_.emplace(
      std::move(shards),
      OffloadOptions{.device = placement.device, .compute_type = placement.compute_type},
      *workers_);
}

void AdamW::add_unit(Unit& unit) {
  const at::Device device = unit.placement().device;
  std::vector<FlatSegment> segments;
  Part part;
  for (const auto& tensor : unit.spec().tensors) {
    if (!tensor.trainable) continue;
    segments.push_back(part_in_shard(tensor, unit.shard()));
    if (segments.back().numel == 0) continue;
    (tensor.decayed ? part.shard.decayed : part.shard.plain).push_back(segments.back());
  }
  part.table = make_segment_table(std::move(segments), device);
  part.shard.master = unit.state("master");
  part.shard.exp_avg = unit.state("exp_avg");
  part.shard.exp_avg_sq = unit.state("exp_avg_sq");
  part.shard.decay_bits =
      make_decay_bits(part.shard.decayed, unit.shard().numel(), part.shard.master.device());
  parts_.push_back(std::move(part));
}

void AdamW::set_learning_rate(double rate) {
  control_.learning_rate.fill_(rate);
}

UpdateResult AdamW::update() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].shard.gradient = sharding_.shard_gradient(i);
    parts_[i].shard.compute = sharding_.shard_compute(i);
    square_sums(parts_[i].square_sums, parts_[i].shard.gradient, parts_[i].table);
  }
  sharding_.sum_over_shards(result_.tensor_square_sums);
  adamw_decide(result_, first_tensor_, control_, options_);
  apply();
  sharding_.share_weights();
  return result_;
}

void AdamW::apply() {
  if (offload_) {
    offload_->run(control_, options_);
    return;
  }
  for (const Part& part : parts_) {
    adamw_update(part.shard, control_, options_, workers_ ? &*workers_ : nullptr);
  }
}

UpdateResult AdamW::step(double learning_rate) {
  if (!pool_) {
    set_learning_rate(learning_rate);
    return update();
  }
  if (!graph_) {
    set_learning_rate(std::numeric_limits<double>::quiet_NaN());
    graph_.emplace(*pool_, "the update", [this] { update(); });
  }
  set_learning_rate(learning_rate);
  graph_->replay();
  return result_;
}

std::int64_t AdamW::applied_updates() const {
  return static_cast<std::int64_t>(control_.count.item<float>());
}

void AdamW::set_applied_updates(std::int64_t count) {
  control_.count.fill_(static_cast<double>(count));
}

std::string name_nonfinite(Sharding& sharding, const at::Tensor& tensor_square_sums) {
  auto& units = sharding.units();
  for (auto& unit : units) {
    const TensorSpec* tensor = nonfinite_weight(unit);
    if (tensor != nullptr) return "the weights of " + in_words(unit, *tensor);
  }
  const auto* end = tensor_square_sums.const_data_ptr<double>() + tensor_square_sums.numel();
  for (std::size_t i = units.size(); i-- > 0;) {
    std::vector<const TensorSpec*> trainable;
    for (const auto& tensor : units[i].spec().tensors) {
      if (tensor.trainable) trainable.push_back(&tensor);
    }
    const auto* sums = end - trainable.size();
    const auto* bad = std::find_if(sums, end, [](double sum) { return !std::isfinite(sum); });
    if (bad != end)
      return "the gradient of " +
             in_words(units[i], *trainable[static_cast<std::size_t>(bad - sums)]);
    end = sums;
  }
  return "no weight and no gradient of this rank";
}

}  // namespace wam
