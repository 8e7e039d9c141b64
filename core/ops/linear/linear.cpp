#include "core/ops/linear/linear.h"

#include <ATen/ops/addmm.h>

namespace wam {
namespace {

at::Tensor as_rows(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)});
}

at::Tensor with_last(const at::Tensor& rows, const at::Tensor& like) {
  auto shape = like.sizes().vec();
  shape.back() = rows.size(-1);
  return rows.view(shape);
}

// gradient (out, in) += dy^T x over rows.
void add_weight_gradient(at::Tensor gradient, const at::Tensor& dy_RO, const at::Tensor& x_RI) {
  if (gradient.scalar_type() == x_RI.scalar_type()) {
    gradient.addmm_(dy_RO.t(), x_RI);
  } else if (x_RI.is_cuda()) {
    at::addmm_out(gradient, gradient, dy_RO.t(), x_RI, gradient.scalar_type());
  } else {
    const auto type = gradient.scalar_type();
    gradient.addmm_(dy_RO.to(type).t(), x_RI.to(type));
  }
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x, const Linear& linear) {
  return with_last(at::addmm(linear.bias.value, as_rows(x), linear.weight.value.t()), x);
}

at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& x, const Linear& linear) {
  const at::Tensor dy_RO = as_rows(dy);
  if (linear.weight.gradient.defined()) {
    add_weight_gradient(linear.weight.gradient, dy_RO, as_rows(x));
  }
  if (linear.bias.gradient.defined()) {
    at::Tensor gradient = linear.bias.gradient;
    gradient.add_(dy_RO.sum(at::IntArrayRef{0}, /*keepdim=*/false, gradient.scalar_type()));
  }
  return with_last(dy_RO.mm(linear.weight.value), dy);
}

}  // namespace wam
