#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/dataset/window_dataset.h"
#include "data/normalise/normaliser.h"

// States and actions of a window: from the rows of the tables to what the model is given.

namespace wam {

// Raw values of all slices side by side, (rows.size(), width) float32. Errors: ContentError naming
// file and row of a value that is not finite.
std::vector<float> gather(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const std::vector<ColumnSlice>& slices,
                          const std::vector<std::int64_t>& rows,
                          std::int64_t width);

// action[block, row] - state[block] for relative keys, on raw values and on the dimensions that
// both have.
void make_relative(const DatasetMember& source,
                   const std::vector<float>& state,
                   std::vector<float>& action,
                   std::int64_t horizon);

// Rows normalised and padded with zeros, or cut, to `out_width`.
at::Tensor normalised(const VectorNormaliser& normaliser,
                      const std::vector<float>& rows,
                      std::int64_t out_width);

}  // namespace wam
