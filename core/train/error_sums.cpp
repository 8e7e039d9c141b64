#include "core/train/error_sums.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

namespace wam {

ErrorSums::ErrorSums(std::int64_t width)
    : absolute_A(at::zeros({width}, at::kDouble)), count_A(at::zeros({width}, at::kDouble)) {}

void ErrorSums::add(const at::Tensor& error_PA, const at::Tensor& mask_PA) {
  const std::int64_t width = error_PA.size(1);
  const at::Tensor mask = mask_PA.to(at::kDouble);
  absolute_A.narrow(0, 0, width).add_((error_PA.abs() * mask.narrow(1, 0, width)).sum(0));
  count_A.add_(mask.sum(0));
}

double ErrorSums::mean() const {
  return absolute_A.sum().item<double>() / std::max(1.0, count_A.sum().item<double>());
}

std::vector<double> ErrorSums::per_dim() const {
  std::vector<double> out;
  for (std::int64_t a = 0; a < absolute_A.numel(); ++a) {
    const double n = count_A[a].item<double>();
    if (n > 0) out.push_back(absolute_A[a].item<double>() / n);
  }
  return out;
}

void sum_over_ranks(Sharding& sharding,
                    c10::Device device,
                    const std::vector<std::reference_wrapper<at::Tensor>>& values) {
  std::vector<at::Tensor> flat;
  for (const at::Tensor& value : values) flat.push_back(value.flatten());
  at::Tensor all = at::cat(flat).to(device);
  sharding.sum_over_ranks(all);
  all = all.to(at::kCPU);
  std::int64_t first = 0;
  for (at::Tensor& value : values) {
    value.copy_(all.narrow(0, first, value.numel()).view(value.sizes()));
    first += value.numel();
  }
}

}  // namespace wam
