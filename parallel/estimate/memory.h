#pragma once

#include <cstdint>
#include <vector>

#include "parallel/estimate/spread.h"

namespace wam {

// Bytes of a model's parameters and of what belongs to them. Activations are the model's matter.
struct SpreadMemory {
  // On every GPU.
  std::int64_t weights = 0;    // compute type; slots for gathered blocks included
  std::int64_t gradients = 0;  // fp32; slots and a rounded copy on its way included
  std::int64_t optimizer = 0;  // fp32 master weights and two moments
  // In the host memory of a node, for all of its GPUs.
  std::int64_t host = 0;
};

// With P parameters, shards of S, slots B as long as the largest block's parameters, and H
// parameters that are held throughout, at 2, 4 and 12 bytes each:
//
//   weights    whole 2P; sharded 2(P - H)/S + 2 x 2B + 2H; in host memory 2(P - H)/S there, and
//              2 x 2B + 2B/S + 2H on the GPU (without 2B/S where S is 1)
//   gradients  4P; sharded and reduced after each micro-step 4P/S + 2 x 4B + 4H
//   optimizer  12P/S, on the GPU or in host memory
//   reduction in bf16: one slot more, 2 x the largest unit
SpreadMemory memory_of(const std::vector<UnitLoad>& units, const Spread& spread);

// Slots for whole blocks, of weights and of gradients: one is worked on while the other travels.
inline constexpr std::int64_t kUnitSlots = 2;

}  // namespace wam
