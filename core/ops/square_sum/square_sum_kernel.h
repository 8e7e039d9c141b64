#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// Elements that a block sums: four rounds of 16-byte loads for each of its threads.
inline constexpr std::int64_t kSquareSumPiece = 16384;

// partial[p] = sum of flat^2 over piece p, elements [piece[2p], piece[2p] + piece[2p + 1]);
// sum[s] = sum of partial over [first_piece[s], first_piece[s + 1]). All sums in float64.
//
// Shape:  pieces start at multiples of 4 elements, have a multiple of 4 and at most
// kSquareSumPiece;
//         flat is aligned to 16 bytes, piece too. No pieces: every sum is zero.
// Stream: ordered on `stream`, does not wait.
// Errors: DeviceError when the device refuses the launch.
void square_sums_cuda(double* sum,
                      double* partial,
                      const float* flat,
                      const std::int64_t* piece,
                      const std::int64_t* first_piece,
                      std::int64_t num_pieces,
                      std::int64_t num_segments,
                      KernelStream stream);

}  // namespace wam
