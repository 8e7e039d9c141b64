#include "core/ops/adamw/adamw_plain.h"

#include <cstddef>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

#include "core/ops/adamw/adamw_decision.h"

namespace wam {
namespace {

at::Tensor field(const AdamWControl& control, std::size_t offset_bytes) {
  return control.decision.select(0, static_cast<std::int64_t>(offset_bytes / sizeof(float)));
}

// 1 - beta^n as the kernels compute it: from the beta that they multiply by.
at::Tensor bias_correction(double beta, const at::Tensor& update) {
  return 1 - at::pow(static_cast<double>(static_cast<float>(beta)), update);
}

void update_segments(const AdamWShard& shard,
                     const std::vector<FlatSegment>& segments,
                     double weight_decay,
                     const AdamWControl& control,
                     const AdamWOptions& options) {
  if (segments.empty()) return;
  std::vector<at::Tensor> master, gradient, exp_avg, exp_avg_sq, update;
  for (const FlatSegment& s : segments) {
    master.push_back(shard.master.narrow(0, s.begin, s.numel));
    gradient.push_back(shard.gradient.narrow(0, s.begin, s.numel));
    exp_avg.push_back(shard.exp_avg.narrow(0, s.begin, s.numel));
    exp_avg_sq.push_back(shard.exp_avg_sq.narrow(0, s.begin, s.numel));
    update.push_back(field(control, offsetof(AdamWDecision, update)));
  }
  at::_fused_adamw_(master, gradient, exp_avg, exp_avg_sq, {}, update,
                    control.learning_rate.item<double>(), options.beta1, options.beta2,
                    weight_decay, options.epsilon, /*amsgrad=*/false, /*maximize=*/false,
                    field(control, offsetof(AdamWDecision, gradient_scale)),
                    field(control, offsetof(AdamWDecision, skipped)));
}

}  // namespace

void adamw_decide_plain(const UpdateResult& result,
                        const at::Tensor& first_tensor,
                        const AdamWControl& control,
                        const AdamWOptions& options) {
  const at::Tensor first = first_tensor.cpu();
  const auto* bound = first.const_data_ptr<std::int64_t>();
  for (std::int64_t u = 0; u < result.unit_square_sums.numel(); ++u) {
    const at::Tensor sums = result.tensor_square_sums.narrow(0, bound[u], bound[u + 1] - bound[u]);
    result.unit_square_sums.select(0, u).copy_(sums.sum());
  }
  result.grad_norm.copy_(result.unit_square_sums.sum().sqrt());
  const at::Tensor applies = result.grad_norm.isfinite() & control.learning_rate.isfinite();
  result.skipped.copy_(applies.logical_not());
  const at::Tensor scale = options.clip_norm > 0
                               ? ((result.grad_norm + 1e-6) / options.clip_norm).clamp_min(1.0)
                               : result.grad_norm.new_ones({});
  const at::Tensor update = control.count.to(at::kDouble) + 1;
  const at::Tensor padding = update.new_zeros({});
  control.decision.copy_(
      at::stack({scale, result.skipped, update, control.learning_rate * options.weight_decay,
                 control.learning_rate / bias_correction(options.beta1, update),
                 bias_correction(options.beta2, update).sqrt(), padding, padding}));
  control.count.add_(1 - result.skipped);
}

void adamw_update_plain(const AdamWShard& shard,
                        const AdamWControl& control,
                        const AdamWOptions& options) {
  const at::NoGradGuard no_grad;
  update_segments(shard, shard.decayed, options.weight_decay, control, options);
  update_segments(shard, shard.plain, 0, control, options);
  const bool skipped = field(control, offsetof(AdamWDecision, skipped)).item<float>() != 0;
  if (shard.compute.defined() && !skipped) shard.compute.copy_(shard.master);
  if (options.zero_gradients) shard.gradient.zero_();
}

}  // namespace wam
