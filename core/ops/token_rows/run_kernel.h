#pragma once

#include <algorithm>
#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// What kernels over tokens with rows share, as pointers and numbers; run_launch.h makes it of
// tensors. B batch · L token · R row of a table · C run · S slot · V vector of a sum · D width

// A run is at most this many consecutive tokens of one row. A sample of 1,000 tokens has 260 runs,
// about two for each of an H200's 132 multiprocessors.
inline constexpr std::int64_t kRunTokens = 4;

// A view (B, R, D) with a contiguous last dimension; strides in elements.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
};
using RowsIn = Rows<const void>;

// The runs of each of B samples (TokenRuns). Without a list: consecutive runs of all tokens, which
// use one row, the same for all samples.
struct RunWork {
  const std::int32_t* run_C3 = nullptr;
  const std::int32_t* row_run_R1 = nullptr;
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t rows = 1;
  std::int64_t runs = 0;
  std::int64_t width = 0;
};

// Thread blocks take `runs_per_block` consecutive runs of a sample each. A block that sums over
// tokens leaves one partial sum for each row that it meets, in slot (its index + the row) of the
// sample: runs are in the order of rows, so the slots are distinct and those of a row consecutive.
struct RunSplit {
  std::int64_t runs_per_block = 1;
  std::int64_t blocks = 0;  // of a sample
  std::int64_t slots = 0;   // of a sample
};

// Blocks to aim for, of all samples together. Constants, so that sums are in the same order on
// every card: two blocks for each multiprocessor of an H200 in one wave where they leave partial
// sums, more and shorter ones where they do not.
inline constexpr std::int64_t kSummingBlocks = 264;
inline constexpr std::int64_t kStreamingBlocks = 1056;

inline RunSplit split_runs(const RunWork& work, std::int64_t aim) {
  if (work.batch == 0 || work.runs == 0) return {};
  const std::int64_t most = std::max<std::int64_t>(1, aim / work.batch);
  RunSplit split;
  split.runs_per_block = (work.runs + most - 1) / most;
  split.blocks = (work.runs + split.runs_per_block - 1) / split.runs_per_block;
  split.slots = split.blocks + work.rows - 1;
  return split;
}

// sum[v][b, r] += the partial sums of row r in the order of their slots, v < num_vectors <= 2.
// partial (B, S, V, D), S = split.slots. A sum without data is not wanted; those of a work without
// a list have one row, to which all samples add. Stream: ordered on `stream`, does not wait.
struct RunSums {
  const float* partial_BSVD = nullptr;
  int num_vectors = 1;
  Rows<float> sum[2];
};
void add_run_sums(const RunSums& sums,
                  const RunWork& work,
                  const RunSplit& split,
                  KernelStream stream);

}  // namespace wam
