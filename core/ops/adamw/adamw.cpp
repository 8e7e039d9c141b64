#include "core/ops/adamw/adamw.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"
#include "core/ops/adamw/adamw_decision.h"
#include "core/ops/adamw/adamw_host.h"
#include "core/ops/adamw/adamw_kernel.h"
#include "core/ops/adamw/adamw_plain.h"

namespace wam {
namespace {

// Elements that a byte of the decay bits covers.
constexpr std::int64_t kElementsPerByte = 8 * kSegmentAlignment;

AdamWDecision* decision_of(const AdamWControl& control) {
  static_assert(sizeof(AdamWDecision) == 8 * sizeof(float));
  return reinterpret_cast<AdamWDecision*>(control.decision.mutable_data_ptr<float>());
}

void decide_on_device(const UpdateResult& result,
                      const at::Tensor& first_tensor,
                      const AdamWControl& control,
                      const AdamWOptions& options) {
  adamw_decide_cuda({.tensor_square_sum = result.tensor_square_sums.const_data_ptr<double>(),
                     .first_tensor = first_tensor.const_data_ptr<std::int64_t>(),
                     .num_units = result.unit_square_sums.numel(),
                     .learning_rate = control.learning_rate.const_data_ptr<double>(),
                     .beta1 = static_cast<float>(options.beta1),
                     .beta2 = static_cast<float>(options.beta2),
                     .weight_decay = options.weight_decay,
                     .clip_norm = options.clip_norm,
                     .unit_square_sum = result.unit_square_sums.mutable_data_ptr<double>(),
                     .grad_norm = result.grad_norm.mutable_data_ptr<double>(),
                     .skipped = result.skipped.mutable_data_ptr<double>(),
                     .count = control.count.mutable_data_ptr<float>(),
                     .decision = decision_of(control)},
                    current_stream());
}

bool is_shard_array(const at::Tensor& array, std::int64_t numel) {
  return array.dim() == 1 && array.numel() == numel && array.is_contiguous() &&
         reinterpret_cast<std::uintptr_t>(array.const_data_ptr()) % 16 == 0;
}

AdamWUpdateArguments arguments_of(const AdamWShard& shard,
                                  const AdamWControl& control,
                                  const AdamWOptions& options) {
  const bool copies = shard.compute.defined();
  const bool is_bf16 = copies && shard.compute.scalar_type() == at::kBFloat16;
  invariant(!copies || is_bf16 || shard.compute.scalar_type() == at::kFloat,
            "a compute copy that is neither bf16 nor fp32");
  return {.master = shard.master.mutable_data_ptr<float>(),
          .exp_avg = shard.exp_avg.mutable_data_ptr<float>(),
          .exp_avg_sq = shard.exp_avg_sq.mutable_data_ptr<float>(),
          .gradient = shard.gradient.mutable_data_ptr<float>(),
          .compute = copies ? shard.compute.mutable_data_ptr() : nullptr,
          .compute_type = is_bf16 ? Element::kBf16 : Element::kFloat,
          .decay_bits = shard.decay_bits.const_data_ptr<std::uint8_t>(),
          .numel = shard.master.numel(),
          .decision = decision_of(control),
          .beta1 = static_cast<float>(options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .epsilon = static_cast<float>(options.epsilon),
          .zero_gradient = options.zero_gradients};
}

void update_on_host(const AdamWUpdateArguments& arguments, WorkerPool* workers) {
  if (workers != nullptr) {
    adamw_update_host(arguments, *workers);
    return;
  }
  WorkerPool caller_alone(1);
  adamw_update_host(arguments, caller_alone);
}

}  // namespace

AdamWControl make_adamw_control(at::Device device) {
  const auto options = at::TensorOptions(device);
  return {.learning_rate = at::zeros({}, options.dtype(at::kDouble)),
          .count = at::zeros({}, options.dtype(at::kFloat)),
          .decision = at::zeros({8}, options.dtype(at::kFloat))};
}

void adamw_decide(const UpdateResult& result,
                  const at::Tensor& first_tensor,
                  const AdamWControl& control,
                  const AdamWOptions& options) {
  if constexpr (kBuiltForCuda) {
    if (control.decision.is_cuda()) {
      decide_on_device(result, first_tensor, control, options);
      return;
    }
  }
  adamw_decide_plain(result, first_tensor, control, options);
}

at::Tensor make_decay_bits(const std::vector<FlatSegment>& decayed,
                           std::int64_t numel,
                           at::Device device) {
  const at::Tensor bits = at::zeros({(numel + kElementsPerByte - 1) / kElementsPerByte}, at::kByte);
  auto* byte = bits.mutable_data_ptr<std::uint8_t>();
  for (const FlatSegment& segment : decayed) {
    for (std::int64_t at = segment.begin; at < segment.padded_end(); at += kSegmentAlignment) {
      const auto bit = at % kElementsPerByte / kSegmentAlignment;
      byte[at / kElementsPerByte] |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(bit));
    }
  }
  return bits.to(device);
}

void adamw_update(const AdamWShard& shard,
                  const AdamWControl& control,
                  const AdamWOptions& options,
                  WorkerPool* workers) {
  const std::int64_t numel = shard.master.numel();
  bool fits = numel % kSegmentAlignment == 0;
  for (const auto* array : {&shard.master, &shard.exp_avg, &shard.exp_avg_sq, &shard.gradient}) {
    fits = fits && is_shard_array(*array, numel);
  }
  invariant(fits && (!shard.compute.defined() || is_shard_array(shard.compute, numel)),
            "the arrays of a shard are not laid out alike");
  if (shard.master.scalar_type() != at::kFloat) {
    adamw_update_plain(shard, control, options);
  } else if (shard.master.is_cpu()) {
    update_on_host(arguments_of(shard, control, options), workers);
  } else if constexpr (kBuiltForCuda) {
    adamw_update_cuda(arguments_of(shard, control, options), current_stream());
  }
}

}  // namespace wam
