#include <cuda_runtime.h>

#include "core/cuda/vector.cuh"
#include "core/ops/video_patches/video_patches_kernel.h"

namespace wam {
namespace {

constexpr int kThreads = 256;
constexpr int kPositions = 64;  // of one row, that a block writes
constexpr int kMostPixel = 2;
constexpr int kMostWidth = 328;
constexpr int kMostTile = 3 * 3 * (3 * kMostPixel) * ((kPositions + 2) * kMostPixel);
constexpr std::uint16_t kOne = 0xfffe;
constexpr std::uint16_t kZero = 0xffff;

// Where a block's positions lie.
struct Tile {
  std::int64_t clip;
  int frame;  // of those that are written
  int y;      // row and column of positions
  int x;
  int count;  // positions
};

__device__ __forceinline__ Tile tile_of(const VideoPatchesTask& task) {
  const int across = task.columns / task.pixel;
  const int tiles = (across + kPositions - 1) / kPositions;
  const int down = task.rows / task.pixel;
  const int frames = task.frames - task.first_frame;
  std::int64_t rest = blockIdx.x;
  Tile tile{};
  tile.x = static_cast<int>(rest % tiles) * kPositions;
  rest /= tiles;
  tile.y = static_cast<int>(rest % down);
  rest /= down;
  tile.frame = static_cast<int>(rest % frames);
  tile.clip = rest / frames;
  tile.count = min(kPositions, across - tile.x);
  return tile;
}

// Where in the tile of pixels the elements of a row stand, for its first position.
__device__ __forceinline__ void make_offsets(const VideoPatchesTask& task,
                                             int tile_columns,
                                             std::uint16_t* offset) {
  const int p = task.pixel;
  const int channels = 3 * p * p;
  for (int k = threadIdx.x; k < task.width; k += kThreads) {
    const int tap = k / channels;
    const int channel = k % channels;
    const int color = channel / (p * p);
    const int pixel_column = channel / p % p;
    const int pixel_row = channel % p;
    const int line = (tap / 9 * 3 + color) * (3 * p) + tap / 3 % 3 * p + pixel_row;
    const auto at = static_cast<std::uint16_t>(line * tile_columns + tap % 3 * p + pixel_column);
    offset[k] = tap < 27 ? at : (k == 27 * channels ? kOne : kZero);
  }
}

// The pixels that the block's positions see: frames by colours by rows by columns.
template <class T>
__device__ __forceinline__ void load_tile(const VideoPatchesTask& task,
                                          const Tile& tile,
                                          int tile_columns,
                                          T* pixels) {
  const int p = task.pixel;
  const T* video = static_cast<const T*>(task.video);
  for (int i = threadIdx.x; i < 9 * 3 * p * tile_columns; i += kThreads) {
    const int line = i / tile_columns;
    const int plane = line / (3 * p);
    const int frame = task.first_frame + tile.frame - 2 + plane / 3;
    const int row = (tile.y - 1) * p + line % (3 * p);
    const int column = (tile.x - 1) * p + i % tile_columns;
    const bool inside =
        frame >= 0 && row >= 0 && row < task.rows && column >= 0 && column < task.columns;
    const std::int64_t at =
        (((tile.clip * 3 + plane % 3) * task.frames + frame) * task.rows + row) * task.columns +
        column;
    pixels[i] = inside ? video[at] : T(0.0F);
  }
}

// A block writes the rows of up to kPositions neighbours in x, which lie one behind the other:
// every warp writes whole lines, out of pixels kept in shared memory.
template <class T>
__global__ void __launch_bounds__(kThreads) rows_from_tile(VideoPatchesTask task) {
  __shared__ T pixels[kMostTile];
  __shared__ __align__(16) std::uint16_t offset[kMostWidth];
  const Tile tile = tile_of(task);
  const int tile_columns = (kPositions + 2) * task.pixel;
  make_offsets(task, tile_columns, offset);
  load_tile(task, tile, tile_columns, pixels);
  __syncthreads();

  const int vectors = task.width / 8;
  const int down = task.rows / task.pixel;
  const std::int64_t line =
      (tile.clip * (task.frames - task.first_frame) + tile.frame) * down + tile.y;
  const std::int64_t first = line * (task.columns / task.pixel) + tile.x;
  T* out = static_cast<T*>(task.out) + first * task.width;
  for (int i = threadIdx.x; i < tile.count * vectors; i += kThreads) {
    const int position = i / vectors;
    const uint4 raw = *reinterpret_cast<const uint4*>(offset + (i - position * vectors) * 8);
    const std::uint32_t pair[4] = {raw.x, raw.y, raw.z, raw.w};
    float value[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const std::uint32_t at = e % 2 == 0 ? pair[e / 2] & 0xffffU : pair[e / 2] >> 16;
      value[e] = at >= kOne ? (at == kOne ? 1.0F : 0.0F)
                            : static_cast<float>(pixels[at + position * task.pixel]);
    }
    store8(out + static_cast<std::int64_t>(i) * 8, value);
  }
}

}  // namespace

void video_patches_launch(const VideoPatchesTask& task, KernelStream stream) {
  const std::int64_t across = task.columns / task.pixel;
  const std::int64_t tiles = (across + kPositions - 1) / kPositions;
  const std::int64_t blocks =
      task.clips * (task.frames - task.first_frame) * (task.rows / task.pixel) * tiles;
  if (blocks == 0) return;
  const auto grid = static_cast<unsigned>(blocks);
  if (task.element == Element::kBf16) {
    rows_from_tile<__nv_bfloat16><<<grid, kThreads, 0, stream>>>(task);
  } else {
    rows_from_tile<float><<<grid, kThreads, 0, stream>>>(task);
  }
  check_launch("video_patches");
}

}  // namespace wam
