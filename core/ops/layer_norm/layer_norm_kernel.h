#pragma once

#include <cstdint>

#include "core/ops/token_rows/run_kernel.h"

namespace wam {

// Layer norm whose factor and shift are rows of a table, one a run of tokens: with one row for all
// tokens the affine layer norm, with a row for each timestep the adaptive one.
//
//   y = (x - mean) / sqrt(variance + eps) * factor[row] + shift[row]
//
// factor is scale + scale_offset rounded to the element type: scale_offset is 1 (adaptive) or 0.
//
// One block takes a few runs (RunSplit) and one thread 8 columns; several tokens are in flight at
// once. The mean is summed first, then the squared distances to it, in fp32.
// Shape:  x, dy, residual (B, L, D) any strides between tokens; scale, shift (B, R, D); the rest
//         dense; D a multiple of 8 and at most 8,192.
// Bytes:  forward 2 e D a token, backward 3 e D (4 e D with a residual), e the element's; a row's
//         factor and shift are read once in `runs_per_block` runs, from the second-level cache.
//         Partial sums are 8 D a slot, written and read once: at most 264 + B (R - 1) slots.
// Speed:  H200, bf16, 8 x 1,000 x 3,072: forward 31 us (3.2 TB/s), backward 59, with a residual 64
//         (3.1 TB/s); 15,940 x 5,120: 98, 188 and 205 us.
// Stream: ordered on `stream`, does not wait.
struct NormForward {
  Element element = Element::kBf16;
  RowsIn x, scale, shift;
  float scale_offset = 0.0F;
  float eps = 0.0F;
  void* y_BLD = nullptr;
  float* mean_BL = nullptr;
  float* rstd_BL = nullptr;
};
void norm_forward(const NormForward& norm, const RunWork& work, KernelStream stream);

// dx = residual + d(loss)/dx, summed in fp32 and rounded once; a residual without data is 0.
// partial (B, S, 2, D): sums of dy, then of dy * normalised x, over the tokens of each slot, for
// add_run_sums; null: not wanted.
struct NormBackward {
  Element element = Element::kBf16;
  RowsIn dy, x, residual, scale;
  float scale_offset = 0.0F;
  const float* mean_BL = nullptr;
  const float* rstd_BL = nullptr;
  void* dx_BLD = nullptr;
  float* partial_BSVD = nullptr;
};
void norm_backward(const NormBackward& norm,
                   const RunWork& work,
                   const RunSplit& split,
                   KernelStream stream);

}  // namespace wam
