#include "core/ops/linear/linear.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/addmm.h>

#include "core/base/errors.h"
#include "core/ops/column_sum/column_sum.h"

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

// Whether all rows of x (..., D) have one distance: not so for some tokens of several samples.
bool has_one_row_stride(const at::Tensor& x) {
  for (std::int64_t d = 0; d + 2 < x.dim(); ++d) {
    if (x.size(d) != 1 && x.stride(d) != x.stride(d + 1) * x.size(d + 1)) return false;
  }
  return true;
}

bool follows(const at::Tensor& next, const at::Tensor& first, std::int64_t offset) {
  return next.defined() && next.is_contiguous() && next.sizes() == first.sizes() &&
         next.scalar_type() == first.scalar_type() && next.is_alias_of(first) &&
         next.storage_offset() == first.storage_offset() + offset;
}

// The parts as one tensor: (parts * n, ...) where they follow each other without gaps; vectors with
// equal gaps (parts, n). Undefined when all parts are (gradients of frozen parameters).
at::Tensor joined_memory(const std::vector<at::Tensor>& parts) {
  const auto all = [&](auto&& holds) { return std::all_of(parts.begin(), parts.end(), holds); };
  if (all([](const at::Tensor& t) { return !t.defined(); })) return {};
  const at::Tensor& first = parts.front();
  invariant(parts.size() > 1 && all([](const at::Tensor& t) { return t.defined(); }),
            "joining parameters takes two or more that are there");
  const std::int64_t step = parts[1].storage_offset() - first.storage_offset();
  const bool gaps = first.dim() == 1 && step > first.numel();
  std::int64_t offset = -step;
  require<InvariantError>(
      (gaps || step == first.numel()) &&
          all([&](const at::Tensor& t) { return follows(t, first, offset += step); }),
      "joining {} parameters of {} elements each: they do not follow each other in memory",
      parts.size(), first.numel());
  const auto count = static_cast<std::int64_t>(parts.size());
  if (gaps) return first.as_strided({count, first.numel()}, {step, 1});
  auto shape = first.sizes().vec();
  shape.front() *= count;
  return first.as_strided(shape, first.strides());
}

Parameter joined_parameter(std::initializer_list<Linear> parts, Parameter Linear::*which) {
  std::vector<at::Tensor> values;
  std::vector<at::Tensor> gradients;
  for (const Linear& part : parts) {
    values.push_back((part.*which).value);
    gradients.push_back((part.*which).gradient);
  }
  return {.value = joined_memory(values), .gradient = joined_memory(gradients)};
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x, const Linear& linear) {
  // Flattening copies only a bias with gaps.
  return with_last(at::addmm(linear.bias.value.flatten(), as_rows(x), linear.weight.value.t()), x);
}

at::Tensor linear_backward(const at::Tensor& dy, const at::Tensor& x, const Linear& linear) {
  linear_backward_parameters(dy, x, linear);
  return linear_backward_input(dy, linear);
}

at::Tensor linear_backward_input(const at::Tensor& dy, const Linear& linear) {
  return with_last(as_rows(dy).mm(linear.weight.value), dy);
}

void linear_backward_parameters(const at::Tensor& dy, const at::Tensor& x, const Linear& linear) {
  const at::Tensor dy_RO = as_rows(dy);
  if (linear.weight.gradient.defined()) {
    add_weight_gradient(linear.weight.gradient, dy_RO, as_rows(x));
  }
  if (linear.bias.gradient.defined()) add_column_sums(dy_RO, linear.bias.gradient);
}

void add_linear_backward_input(const at::Tensor& dy, const Linear& linear, const at::Tensor& dx) {
  const at::Tensor& weight = linear.weight.value;
  if (has_one_row_stride(dx)) {
    dx.view({-1, dx.size(-1)}).addmm_(as_rows(dy), weight);
  } else {
    at::Tensor dx_BLI = dx;
    dx_BLI.baddbmm_(dy, weight.unsqueeze(0).expand({dx.size(0), -1, -1}));
  }
}

Linear without_bias_gradient(Linear linear) {
  linear.bias.gradient.reset();
  return linear;
}

Linear joined(std::initializer_list<Linear> parts) {
  return {.weight = joined_parameter(parts, &Linear::weight),
          .bias = joined_parameter(parts, &Linear::bias)};
}

}  // namespace wam
