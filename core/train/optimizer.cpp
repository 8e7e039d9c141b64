#include "core/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"

namespace wam {
namespace {

bool all_finite(const at::Tensor& values) {
  return std::isfinite(values.abs().max().item<double>());
}

// "blocks.3, tensor blocks.3.ffn.0.weight" for the first non-finite tensor of the range.
std::string name_in(const Unit& unit, const at::Tensor& flat, std::int64_t first) {
  for (const auto& tensor : unit.spec().tensors) {
    const std::int64_t begin = std::max(tensor.offset, first);
    const std::int64_t end = std::min(tensor.offset + tensor.numel(), first + flat.numel());
    if (!tensor.trainable || begin >= end) continue;
    if (!all_finite(flat.narrow(0, begin - first, end - begin))) {
      return fmt::format("unit {}, tensor {}", unit.spec().name, tensor.name);
    }
  }
  return fmt::format("unit {}", unit.spec().name);
}

}  // namespace

AdamW::AdamW(Sharding& sharding, const AdamWOptions& options)
    : sharding_(sharding), options_(options) {
  invariant(!sharding.units().empty(), "an optimizer without units");
  const auto device = sharding.units().front().placement().device;
  count_ = at::zeros({}, at::TensorOptions(device).dtype(at::kFloat));
  decayed_.weight_decay = options.weight_decay;
  for (std::size_t i = 0; i < sharding.units().size(); ++i) add_unit(i);
}

void AdamW::add_unit(std::size_t unit_idx) {
  Unit& unit = sharding_.units()[unit_idx];
  const ShardRange& shard = unit.shard();
  for (const auto& tensor : unit.spec().tensors) {
    const std::int64_t begin = std::max(tensor.offset, shard.begin);
    const std::int64_t end = std::min(tensor.offset + tensor.numel(), shard.end);
    if (!tensor.trainable || begin >= end) continue;
    Group& group = tensor.decayed ? decayed_ : plain_;
    const std::int64_t at = begin - shard.begin;
    group.parts.push_back({unit_idx, at, end - begin});
    group.master.push_back(unit.state("master").narrow(0, at, end - begin));
    group.exp_avg.push_back(unit.state("exp_avg").narrow(0, at, end - begin));
    group.exp_avg_sq.push_back(unit.state("exp_avg_sq").narrow(0, at, end - begin));
    group.counts.push_back(count_);
  }
}

void AdamW::apply(const Group& group,
                  const std::vector<at::Tensor>& gradients,
                  double learning_rate,
                  const at::Tensor& scale,
                  const at::Tensor& skipped) {
  if (group.parts.empty()) return;
  std::vector<at::Tensor> parts;
  parts.reserve(group.parts.size());
  for (const auto& part : group.parts) {
    parts.push_back(gradients[part.unit_idx].narrow(0, part.offset, part.numel));
  }
  at::_fused_adamw_(group.master, parts, group.exp_avg, group.exp_avg_sq, {}, group.counts,
                    learning_rate, options_.beta1, options_.beta2, group.weight_decay,
                    options_.epsilon, /*amsgrad=*/false, /*maximize=*/false, scale, skipped);
}

UpdateResult AdamW::step(double learning_rate) {
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> norms;
  for (std::size_t i = 0; i < sharding_.units().size(); ++i) {
    gradients.push_back(sharding_.shard_gradient(i));
    norms.push_back(at::linalg_vector_norm(gradients.back(), 2, std::nullopt, false, at::kDouble));
  }
  UpdateResult result;
  result.unit_square_sums = at::stack(norms).square();
  sharding_.sum_over_shards(result.unit_square_sums);
  result.grad_norm = result.unit_square_sums.sum().sqrt();
  result.skipped = result.grad_norm.isfinite().logical_not().to(at::kFloat);
  // The kernel divides gradients by this. 1e-6 as in torch.nn.utils.clip_grad_norm_.
  const at::Tensor scale = options_.clip_norm > 0
                               ? ((result.grad_norm + 1e-6) / options_.clip_norm).clamp_min(1.0)
                               : result.grad_norm.new_ones({});
  const at::Tensor scale32 = scale.to(at::kFloat);
  count_.add_(1);
  apply(decayed_, gradients, learning_rate, scale32, result.skipped);
  apply(plain_, gradients, learning_rate, scale32, result.skipped);
  count_.sub_(result.skipped);
  sharding_.publish_weights();
  return result;
}

std::int64_t AdamW::applied_updates() const {
  return static_cast<std::int64_t>(count_.item<float>());
}

void AdamW::set_applied_updates(std::int64_t count) {
  count_.fill_(static_cast<double>(count));
}

std::string name_nonfinite(Sharding& sharding) {
  auto& units = sharding.units();
  for (auto& unit : units) {
    const at::Tensor& master = unit.state("master");
    if (master.numel() > 0 && !all_finite(master)) {
      return "the weights of " + name_in(unit, master, unit.shard().begin);
    }
  }
  for (std::size_t i = units.size(); i-- > 0;) {
    const at::Tensor gradient = sharding.shard_gradient(i);
    if (gradient.numel() > 0 && !all_finite(gradient)) {
      return "the gradient of " + name_in(units[i], gradient, units[i].shard().begin);
    }
  }
  return "no weight and no gradient of this rank";
}

}  // namespace wam
