#include "core/ops/ada_norm/ada_norm_launch.h"

#include "core/base/errors.h"
#include "core/ops/layer_norm/layer_norm_launch.h"
#include "core/ops/token_rows/run_launch.h"

namespace wam {
namespace {

constexpr float kOnePlus = 1.0F;  // the factor is 1 + scale

RunWork work_of(const at::Tensor& x_BLD, const Modulation& modulation, const TokenRows& rows) {
  invariant(modulation.scale_BRD.sizes() == modulation.shift_BRD.sizes() &&
                modulation.scale_BRD.dim() == 3 && modulation.scale_BRD.size(0) == x_BLD.size(0),
            "a modulation is a shift and a scale (B, R, D)");
  return run_work(x_BLD, rows, modulation.scale_BRD.size(1));
}

}  // namespace

at::Tensor ada_norm_forward_launch(const at::Tensor& x_BLD,
                                   const Modulation& modulation,
                                   const TokenRows& rows,
                                   double eps,
                                   NormStatistics& statistics) {
  return norm_forward_launch(x_BLD, {modulation.shift_BRD, modulation.scale_BRD}, kOnePlus,
                             work_of(x_BLD, modulation, rows), eps, statistics);
}

at::Tensor ada_norm_backward_launch(const at::Tensor& dy_BLD,
                                    const at::Tensor& x_BLD,
                                    const Modulation& modulation,
                                    const TokenRows& rows,
                                    const NormStatistics& statistics,
                                    const Modulation& dmodulation,
                                    const at::Tensor& residual_BLD) {
  invariant(dmodulation.shift_BRD.sizes() == modulation.shift_BRD.sizes() &&
                dmodulation.scale_BRD.sizes() == modulation.scale_BRD.sizes(),
            "a modulation and its gradient have one shape");
  return norm_backward_launch({dy_BLD, x_BLD, residual_BLD, modulation.scale_BRD, statistics},
                              {dmodulation.shift_BRD, dmodulation.scale_BRD}, kOnePlus,
                              work_of(x_BLD, modulation, rows));
}

}  // namespace wam
