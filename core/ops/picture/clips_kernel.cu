#include <cuda_runtime.h>

#include "core/ops/picture/clips_kernel.h"
#include "core/ops/picture/picture_pixel.h"

namespace wam {
namespace {

constexpr int kThreads = 128;  // columns of a row at once
constexpr int kLumaRows = 8;   // of a block that adds luma

// A "vector" of one pixel (picture_pixel.h); every operation rounds once.
struct Lane {
  using Values = float;
  using Mask = bool;
  static __device__ __forceinline__ Values set(float value) { return value; }
  static __device__ __forceinline__ Values mul(Values a, Values b) { return __fmul_rn(a, b); }
  static __device__ __forceinline__ Values add(Values a, Values b) { return __fadd_rn(a, b); }
  static __device__ __forceinline__ Values sub(Values a, Values b) { return __fsub_rn(a, b); }
  static __device__ __forceinline__ Values fma(Values a, Values b, Values c) {
    return __fmaf_rn(a, b, c);
  }
  static __device__ __forceinline__ Values min(Values a, Values b) { return a < b ? a : b; }
  static __device__ __forceinline__ Values max(Values a, Values b) { return a > b ? a : b; }
  static __device__ __forceinline__ Values abs(Values a) { return fabsf(a); }
  static __device__ __forceinline__ Mask equal(Values a, Values b) { return a == b; }
  static __device__ __forceinline__ Mask less(Values a, Values b) { return a < b; }
  static __device__ __forceinline__ Values select(Mask mask, Values a, Values b) {
    return mask ? a : b;
  }
};
using LanePixel = Pixel<Lane>;

__device__ __forceinline__ LanePixel recorded(const std::uint8_t* at) {
  return {unit_of_level<Lane>(static_cast<float>(at[0])),
          unit_of_level<Lane>(static_cast<float>(at[1])),
          unit_of_level<Lane>(static_cast<float>(at[2]))};
}

// sum + weight * p, or weight * p for the first tap.
__device__ __forceinline__ LanePixel weighted(const LanePixel& sum,
                                              float weight,
                                              const LanePixel& p,
                                              bool first) {
  if (first) {
    return {Lane::mul(weight, p.r), Lane::mul(weight, p.g), Lane::mul(weight, p.b)};
  }
  return {Lane::fma(weight, p.r, sum.r), Lane::fma(weight, p.g, sum.g),
          Lane::fma(weight, p.b, sum.b)};
}

// Columns first, then rows, as on the host.
__device__ LanePixel resized(const PictureJob& job,
                             const std::uint8_t* from,
                             std::int64_t y,
                             std::int64_t x) {
  const PictureAxis& rows = job.rows;
  const PictureAxis& columns = job.columns;
  LanePixel out{};
  const std::uint8_t* row = from + rows.first[y] * job.from_stride + 3 * columns.first[x];
  for (std::int64_t i = 0; i < rows.taps; ++i, row += job.from_stride) {
    LanePixel narrow{};
    for (std::int64_t k = 0; k < columns.taps; ++k) {
      narrow =
          weighted(narrow, columns.weight[k * columns.stride + x], recorded(row + 3 * k), k == 0);
    }
    out = weighted(out, rows.weight[i * rows.stride + y], narrow, i == 0);
  }
  return out;
}

__device__ __forceinline__ const JitterStep* contrast_of(const PictureJob& job) {
  const JitterStep* step = job.step;
  while (step != job.step + job.steps && step->op != JitterOp::kContrast) ++step;
  return step;
}

// Blocks: (rows / kLumaRows, frames, jobs); threads: (kPictureColumns, kLumaRows).
__global__ void add_luma(ClipsTask task) {
  const ClipJob& clip = task.jobs[blockIdx.z];
  const PictureJob& job = clip.picture;
  const std::int64_t y = static_cast<std::int64_t>(blockIdx.x) * kLumaRows + threadIdx.y;
  const JitterStep* contrast = contrast_of(job);
  if (contrast == job.step + job.steps || y >= job.rows.out) return;
  const std::uint8_t* from = job.from + blockIdx.y * clip.from_step;
  float sum = 0;
  for (std::int64_t x = threadIdx.x; x < job.columns.out; x += kPictureColumns) {
    const LanePixel p = jittered<Lane>(resized(job, from, y, x), job.step, contrast, 0);
    sum = Lane::add(sum, luma_of<Lane>(p));
  }
  const std::int64_t picture = blockIdx.z * task.frames + blockIdx.y;
  task.luma[(picture * task.max_rows + y) * kPictureColumns + threadIdx.x] = sum;
}

// A block of kPictureColumns threads for each picture: (frames, jobs).
__global__ void mean_luma(ClipsTask task) {
  const PictureJob& job = task.jobs[blockIdx.y].picture;
  if (contrast_of(job) == job.step + job.steps) return;
  const std::int64_t picture = blockIdx.y * task.frames + blockIdx.x;
  const float* luma = task.luma + picture * task.max_rows * kPictureColumns;
  __shared__ double sums[kPictureColumns];
  double sum = 0;
  for (std::int64_t y = 0; y < job.rows.out; ++y) {
    sum += static_cast<double>(luma[y * kPictureColumns + threadIdx.x]);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  double total = 0;
  for (const double lane : sums) total += lane;
  task.mean[picture] =
      static_cast<float>(total / static_cast<double>(job.rows.out * job.columns.out));
}

// Blocks: (rows, frames, jobs).
__global__ void __launch_bounds__(kThreads) write_pictures(ClipsTask task) {
  const ClipJob& clip = task.jobs[blockIdx.z];
  const PictureJob& job = clip.picture;
  const std::int64_t y = blockIdx.x;
  if (y >= job.rows.out) return;
  const JitterStep* const end = job.step + job.steps;
  const float mean =
      contrast_of(job) == end ? 0.0F : task.mean[blockIdx.z * task.frames + blockIdx.y];
  const std::uint8_t* from = job.from + blockIdx.y * clip.from_step;
  std::uint8_t* row = job.to + blockIdx.y * clip.to_step + y * job.repeat_rows * job.to_stride;
  for (std::int64_t x = threadIdx.x; x < job.columns.out; x += kThreads) {
    const LanePixel p = jittered<Lane>(resized(job, from, y, x), job.step, end, mean);
    const std::uint8_t level[3] = {
        static_cast<std::uint8_t>(static_cast<int>(Lane::mul(p.r, 255.0F))),
        static_cast<std::uint8_t>(static_cast<int>(Lane::mul(p.g, 255.0F))),
        static_cast<std::uint8_t>(static_cast<int>(Lane::mul(p.b, 255.0F)))};
    for (std::int64_t i = 0; i < job.repeat_rows; ++i) {
      std::uint8_t* to = row + i * job.to_stride + 3 * x * job.repeat_columns;
      for (std::int64_t k = 0; k < job.repeat_columns; ++k, to += 3) {
        to[0] = level[0];
        to[1] = level[1];
        to[2] = level[2];
      }
    }
  }
}

}  // namespace

void transform_clips_launch(const ClipsTask& task, KernelStream stream) {
  const auto frames = static_cast<unsigned>(task.frames);
  const auto jobs = static_cast<unsigned>(task.num_jobs);
  const auto rows = static_cast<unsigned>(task.max_rows);
  if (frames == 0 || jobs == 0) return;
  add_luma<<<dim3((rows + kLumaRows - 1) / kLumaRows, frames, jobs),
             dim3(kPictureColumns, kLumaRows), 0, stream>>>(task);
  check_launch("add_luma");
  mean_luma<<<dim3(frames, jobs), kPictureColumns, 0, stream>>>(task);
  check_launch("mean_luma");
  write_pictures<<<dim3(rows, frames, jobs), kThreads, 0, stream>>>(task);
  check_launch("write_pictures");
}

}  // namespace wam
