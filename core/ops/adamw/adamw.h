#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/worker_pool.h"
#include "core/ops/flat_segment.h"

namespace wam {

// AdamW over flat shards in two parts: adamw_decide once a step, adamw_update once a shard. On a
// GPU both only enqueue kernels that read nothing from the host but the options, so that a CUDA
// graph can hold a whole step.

struct AdamWOptions {
  double beta1 = 0.95;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-5;
  double clip_norm = 1.0;       // of the global L2 norm; 0: no clipping
  bool zero_gradients = false;  // an update leaves its gradient at zero, a skipped one too
};

// What the shards of a step have in common, on the device.
struct AdamWControl {
  at::Tensor learning_rate;  // () float64; the caller's to set. Not finite: nothing is applied
  at::Tensor count;          // () float32: updates applied so far
  at::Tensor decision;       // (8) float32: an AdamWDecision and padding
};
AdamWControl make_adamw_control(at::Device device);

// What a step found out about its gradients, unclipped, on the device.
struct UpdateResult {
  at::Tensor tensor_square_sums;  // (num_tensors) float64: squared norm of each trainable tensor
  at::Tensor unit_square_sums;    // (num_units) float64
  at::Tensor grad_norm;           // () float64
  at::Tensor skipped;             // () float64: 1 when nothing was applied, else 0
};

// From tensor_square_sums: the rest of `result`, the decision, and the new count. The norm is
// clipped as torch.nn.utils.clip_grad_norm_ does, with its 1e-6; a step whose norm is not finite is
// skipped and not counted.
//
// Shape:  first_tensor (num_units + 1) int64 on the device: unit u has the tensors [first[u],
//         first[u + 1]).
// Stream: ordered on the current one, does not wait (the plain twin on a GPU does).
void adamw_decide(const UpdateResult& result,
                  const at::Tensor& first_tensor,
                  const AdamWControl& control,
                  const AdamWOptions& options);

// One shard: arrays of (n) elements, n a multiple of kSegmentAlignment, all laid out alike.
struct AdamWShard {
  at::Tensor master, exp_avg, exp_avg_sq;
  at::Tensor gradient;
  at::Tensor
      compute;  // bf16 or fp32: gets `master`, rounded to nearest even; undefined: not wanted
  std::vector<FlatSegment> decayed, plain;  // the tensors with and without weight decay
  at::Tensor decay_bits;                    // of make_decay_bits, on the device of `master`
};
// (n / 512, rounded up) uint8: bit b of byte i says whether elements [512 i + 64 b, + 64) decay.
at::Tensor make_decay_bits(const std::vector<FlatSegment>& decayed,
                           std::int64_t numel,
                           at::Device device);

// The update of Loshchilov & Hutter 2019 (arXiv:1711.05101: decoupled decay, then the
// bias-corrected Adam step) that the decision asks for, in the order of operations of ATen's
// _fused_adamw_, which is the plain twin:
//   g = gradient / gradient_scale
//   p = master - decay * master                   decayed segments only
//   m = beta1 * exp_avg    + (1 - beta1) * g
//   v = beta2 * exp_avg_sq + (1 - beta2) * g^2
//   p -= step_size * m / (sqrt(v) / bias_correction2_sqrt + epsilon)
// Padding stays zero. A skipped update leaves everything but a gradient that is to be zeroed. The
// gradient is otherwise of no use after it (the plain twin scales it).
//
// State in fp32 is updated by the kernel on a GPU and by vector code in host memory
// (adamw_host.h), with the same bits; other types by the plain twin.
//
// Stream:  ordered on the current one, does not wait (the plain twin on a GPU does).
// Threads: those of `workers` for arrays in host memory; null: the caller's alone.
// Bytes:   with fp32 state and a bf16 copy 30 an element: 16 read, 14 written; 34 when gradients
//          are zeroed. All accesses are whole 32-byte sectors.
void adamw_update(const AdamWShard& shard,
                  const AdamWControl& control,
                  const AdamWOptions& options,
                  WorkerPool* workers = nullptr);

}  // namespace wam
