#pragma once

#include <vector>

#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/normalise/statistics.h"

namespace wam {

// Statistics of an embodiment over all rows of all episodes of its datasets, pooled: values read as
// float32 and reduced in float64, quantiles exact. Relative keys get those of action[i + j] -
// state[i] (float32, as the model will see it) over all starts i = 0 ... L - H and j = 0 ... H - 1.
// Holds every row of the vectors in memory while it runs (4 bytes a value), and for relative keys H
// values a row of one dimension.
//
// Source: as DreamZero @ ab790c1 computes relative statistics, and RLinf @ a3816b5
//         (generate_dreamzero_metadata.py) the others.
// Errors: DataError naming dataset and episode (a column missing, a value that is not finite; no
//         episode as long as a block).
struct BoundDataset {
  const LeRobotReader* reader = nullptr;
  const Binding* binding = nullptr;
};
Statistics compute_statistics(const std::vector<BoundDataset>& datasets,
                              const Embodiment& embodiment);

// Rows of a vector slice as float32, (L, width) contiguous.
at::Tensor read_rows(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     const ColumnSlice& slice);

}  // namespace wam
