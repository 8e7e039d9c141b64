#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"

namespace wam {

struct AdamWOptions {
  double beta1 = 0.95;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-5;
  double clip_norm = 1.0;  // of the global L2 norm; 0: no clipping
};

// What one update left on the device; nothing here has been read by the host.
struct UpdateResult {
  at::Tensor
      unit_square_sums;  // (num_units) float64: squared gradient norm of each unit, unclipped
  at::Tensor grad_norm;  // () float64
  at::Tensor skipped;    // () float32: 1 when the norm was not finite and nothing was applied
};

// AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101: decoupled decay, then the bias-corrected Adam
// step) over the flat shards of all units, with global-norm clipping and a skip of non-finite
// updates that is decided on the device. The arithmetic is ATen's fused kernel.
//
// A skipped update leaves weights, moments and the count of applied updates as they were.
class AdamW {
 public:
  AdamW(Sharding& sharding, const AdamWOptions& options);

  // Applies the gradients that `sharding` holds after the last micro-step, then publishes weights.
  UpdateResult step(double learning_rate);

  // Updates applied so far (Adam's own count, behind the step number by the skipped ones).
  // Reads the device.
  [[nodiscard]] std::int64_t applied_updates() const;
  void set_applied_updates(std::int64_t count);

 private:
  // The parts of the shards that share a weight decay, as views into the flat buffers.
  struct Group {
    double weight_decay = 0;
    std::vector<at::Tensor> master, exp_avg, exp_avg_sq, counts;
    // Where each part lies, to find its gradient: (unit, offset in the shard, elements).
    struct Part {
      std::size_t unit_idx;
      std::int64_t offset;
      std::int64_t numel;
    };
    std::vector<Part> parts;
  };
  void add_unit(std::size_t unit_idx);
  void apply(const Group& group,
             const std::vector<at::Tensor>& gradients,
             double learning_rate,
             const at::Tensor& scale,
             const at::Tensor& skipped);

  Sharding& sharding_;
  AdamWOptions options_;
  at::Tensor count_;  // () float32 on the device
  Group decayed_;
  Group plain_;
};

// For a step whose norm was not finite: which unit and tensor went bad first, in words. Looks at
// the masters (in the order of the forward), then the gradients (in the order of the backward).
// Reads the device; call it before the gradients are zeroed.
std::string name_nonfinite(Sharding& sharding);

}  // namespace wam
