#include "core/ops/qk_norm/qk_norm_plain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

namespace wam {
namespace {

at::Tensor wide(const at::Tensor& x) {
  return x.to(accumulate_type(x.scalar_type()));
}

// Multiplies pairs by cos + i sin, or by its conjugate: (B, L, N, K) in the accumulate type.
at::Tensor rotate(const at::Tensor& x_BLNK, const at::Tensor& rotary, bool backwards) {
  const at::Tensor pairs = at::view_as_complex(x_BLNK.contiguous().unflatten(-1, {-1, 2}));
  at::Tensor turn = at::view_as_complex(rotary).unsqueeze(1);
  if (backwards) turn = turn.conj();
  return at::view_as_real(pairs * turn).flatten(-2);
}

}  // namespace

at::Tensor qk_norm_forward_plain(const at::Tensor& x_BLD,
                                 const QkNorm& norm,
                                 const at::Tensor& rotary,
                                 at::Tensor& rstd_BL1) {
  const auto type = x_BLD.scalar_type();
  const at::Tensor x = wide(x_BLD);
  rstd_BL1 = at::rsqrt((x * x).mean(at::IntArrayRef{-1}, /*keepdim=*/true) + norm.eps);
  const at::Tensor z = (x * rstd_BL1).to(type) * norm.weight.value;
  const at::Tensor z_BLNK = z.unflatten(-1, {norm.num_heads, -1});
  return rotary.defined() ? rotate(wide(z_BLNK), rotary, /*backwards=*/false).to(type) : z_BLNK;
}

void qk_norm_backward_plain(const at::Tensor& dy_BLNK,
                            const at::Tensor& x_BLD,
                            const QkNorm& norm,
                            const at::Tensor& rotary,
                            const at::Tensor& rstd_BL1,
                            const at::Tensor& dx_BLD) {
  at::Tensor dz = wide(dy_BLNK);
  if (rotary.defined()) dz = rotate(dz, rotary, /*backwards=*/true);
  dz = dz.flatten(-2);
  const at::Tensor n = wide(x_BLD) * rstd_BL1;
  if (norm.weight.gradient.defined()) {
    at::Tensor gradient = norm.weight.gradient;
    gradient.add_((dz * n).sum(at::IntArrayRef{0, 1}));
  }
  const at::Tensor dn = dz * wide(norm.weight.value);
  const at::Tensor along = (dn * n).mean(at::IntArrayRef{-1}, /*keepdim=*/true);
  at::Tensor dx = dx_BLD;
  dx.copy_((dn - n * along) * rstd_BL1);
}

}  // namespace wam
