#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/embodiment/binding.h"
#include "data/embodiment/embodiment.h"
#include "data/lerobot/reader.h"
#include "data/normalise/statistics.h"

namespace wam {

struct BoundDataset {
  const LeRobotReader* reader = nullptr;
  const Binding* binding = nullptr;
};

// What to do with values that are not finite: refuse the dataset, or leave each out of its
// dimension (and its differences, of relative actions).
enum class NotFinite { kRefused, kLeftOut };

struct ComputeOptions {
  unsigned threads = 1;  // the result does not depend on it
  NotFinite not_finite = NotFinite::kRefused;
  // Told after every reading of an episode, of which each is read twice; one thread at a time.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress = {};
};

// Where a dimension's extreme value is.
struct ValuePlace {
  std::size_t dataset = 0;
  std::int64_t episode_idx = 0;
  std::int64_t frame = 0;  // of relative actions the frame where their block starts
};
struct ExtremePlaces {
  std::vector<ValuePlace> min;  // per dimension
  std::vector<ValuePlace> max;
};

struct ComputedStatistics {
  Statistics statistics;
  std::map<std::string, ExtremePlaces> extremes;  // by "state.KEY" and "action.KEY"
  std::int64_t rows = 0;
  std::int64_t left_out = 0;  // values that are not finite
};

// Statistics of an embodiment over all rows of all episodes of its datasets, pooled: values read as
// float32 and reduced in float64, quantiles exact. Relative keys get those of action[i + j] -
// state[i] (float32, as the model will see it) over all starts i = 0 ... L - H and j = 0 ... H - 1.
// Reads the vectors of every episode twice and holds those of one a thread, and one to three MiB a
// dimension.
//
// Source: as DreamZero @ ab790c1 computes relative statistics, and RLinf @ a3816b5
//         (generate_dreamzero_metadata.py) the others.
// Errors: DataError naming dataset and episode, that of the first bad episode (a column missing, a
//         value that is not finite where that is refused; no value; no episode as long as a block),
//         and datasets whose vectors or pictures differ in size.
ComputedStatistics compute_statistics(const std::vector<BoundDataset>& datasets,
                                      const Embodiment& embodiment,
                                      const ComputeOptions& options = {});

// Rows of a vector slice as float32, (L, width) contiguous.
at::Tensor read_rows(const LeRobotReader& reader,
                     std::int64_t episode_idx,
                     const ColumnSlice& slice);

}  // namespace wam
