#pragma once

#include <cstdint>

#include "core/ops/token_rows/run_kernel.h"

namespace wam {

// out = x + round(y * gate[row]), rounded; backward: dy = dout * gate[row], rounded, and the sums
// of dout * y in fp32 over the tokens of each slot.
//
// One block takes 1,024 columns of a few runs (RunSplit); the tokens of a run are in flight at
// once.
// Shape:  x, y, dout (B, L, D) any strides between tokens; gate (B, R, D); out and dy dense; D a
//         multiple of 8. partial (B, S, 1, D) for add_run_sums.
// Bytes:  3 e D a token, e the element's, forward and backward; partial sums are 4 D a slot,
//         written and read once: at most 264 + B (R - 1) slots.
// Speed:  H200, bf16, 8 x 1,000 x 3,072: forward 37 us (4.0 TB/s), backward 44 (3.3 TB/s).
// Stream: ordered on `stream`, does not wait.
struct GatedForward {
  Element element = Element::kBf16;
  RowsIn x, y, gate;
  void* out_BLD = nullptr;
};
void gated_residual_forward(const GatedForward& gated, const RunWork& work, KernelStream stream);

struct GatedBackward {
  Element element = Element::kBf16;
  RowsIn dout, y, gate;
  void* dy_BLD = nullptr;
  float* partial_BSD = nullptr;
};
void gated_residual_backward(const GatedBackward& gated,
                             const RunWork& work,
                             const RunSplit& split,
                             KernelStream stream);

}  // namespace wam
