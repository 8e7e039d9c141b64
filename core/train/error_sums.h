#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/train/sharding.h"

namespace wam {

// P action step · A action value

// Sums of absolute errors by action value, in float64 on the CPU.
struct ErrorSums {
  explicit ErrorSums(std::int64_t width);

  // error_PA may have fewer values than the sums: one embodiment's, in the places that the model
  // has for any. mask_PA (bool) is true for real values.
  void add(const at::Tensor& error_PA, const at::Tensor& mask_PA);
  [[nodiscard]] double mean() const;
  // Of the values that occur.
  [[nodiscard]] std::vector<double> per_dim() const;

  at::Tensor absolute_A;
  at::Tensor count_A;
};

// Adds float64 tensors of the CPU over ranks, in place, with one call; `device` of the collective.
void sum_over_ranks(Sharding& sharding,
                    c10::Device device,
                    const std::vector<std::reference_wrapper<at::Tensor>>& values);

}  // namespace wam
