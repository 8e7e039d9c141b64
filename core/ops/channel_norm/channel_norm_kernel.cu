#include <cuda_runtime.h>

#include "core/cuda/vector.cuh"
#include "core/ops/channel_norm/channel_norm_kernel.h"

namespace wam {
namespace {

constexpr int kThreads = 256;

struct RowSizes {
  std::uint32_t positions, frames, rows, columns;
};

struct Place {
  std::uint32_t clip, frame, row, column;
};

__device__ __forceinline__ Place place_of(const RowSizes& size, std::uint32_t position) {
  const std::uint32_t line = position / size.columns;
  const std::uint32_t plane = line / size.rows;
  const std::uint32_t clip = plane / size.frames;
  return {clip, plane - clip * size.frames, line - plane * size.rows,
          position - line * size.columns};
}

// The element of `out` at which a position begins.
__device__ __forceinline__ std::int64_t row_offset(const ChannelRows& out, const Place& at) {
  return at.clip * out.batch + at.frame * out.frame + at.row * out.row + at.column * out.column;
}

__device__ __forceinline__ float silu(float value) {
  return __fdividef(value, 1.0F + __expf(-value));
}

// A position's channels on kLanes threads, up to kVectors vectors each: a warp reads whole sectors
// of consecutive positions, and the length needs shuffles only. One long body: the values stay in
// registers from the first read to the last write.
template <class T, int kLanes, int kVectors>
__global__ void __launch_bounds__(kThreads, kVectors == 3 ? 3 : 2)
    position_per_lanes(ChannelNormTask task, RowSizes size, float root) {
  const std::uint32_t lane = threadIdx.x % kLanes;
  const std::uint32_t wanted = blockIdx.x * (kThreads / kLanes) + threadIdx.x / kLanes;
  const bool live = wanted < size.positions;
  // Lanes past the end work on the last position, so that the shuffles have all their lanes.
  const std::uint32_t position = live ? wanted : size.positions - 1;
  const auto channels = static_cast<std::uint32_t>(task.channels);
  const std::int64_t row = position * task.channels;
  const T* x = static_cast<const T*>(task.x) + row;
  const T* skip = static_cast<const T*>(task.skip);

  float value[kVectors][8] = {};
  float other[kVectors][8] = {};
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::uint32_t c = (lane + v * kLanes) * 8;
    if (c >= channels) continue;
    load8(value[v], x + c);
    if (skip != nullptr) load8(other[v], skip + row + c);
  }
  if (task.bias != nullptr || skip != nullptr) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t c = (lane + v * kLanes) * 8;
      float bias[8] = {};
      if (task.bias != nullptr && c < channels) load8(bias, task.bias + c);
#pragma unroll
      for (int i = 0; i < 8; ++i) value[v][i] = rounded<T>((value[v][i] + bias[i]) + other[v][i]);
    }
  }
  const Place at = place_of(size, position);
  if (task.sum.data != nullptr && live) {
    T* sum = static_cast<T*>(task.sum.data) + row_offset(task.sum, at);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t c = (lane + v * kLanes) * 8;
      if (c < channels) store8(sum + c, value[v]);
    }
  }
  if (task.gamma == nullptr) return;

  float squares = 0.0F;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int i = 0; i < 8; ++i) squares = fmaf(value[v][i], value[v][i], squares);
  }
#pragma unroll
  for (int l = kLanes / 2; l > 0; l >>= 1) squares += __shfl_xor_sync(0xffffffffU, squares, l);
  const float scale = root / fmaxf(sqrtf(squares), 1e-12F);
  if (!live) return;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::uint32_t c = (lane + v * kLanes) * 8;
    if (c >= channels) continue;
    float gamma[8];
    load8(gamma, static_cast<const T*>(task.gamma) + c);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float n = value[v][i] * scale * gamma[i];
      value[v][i] = task.silu ? silu(n) : n;
    }
  }
  T* normed = static_cast<T*>(task.normed.data) + row_offset(task.normed, at);
  // A frame stands last in its own place, one before last in that of the next frame, and so on.
  for (int later = 0; later < task.places && at.frame + later < size.frames; ++later) {
    T* to = normed + later * task.normed.frame + (task.places - 1 - later) * task.channels;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t c = (lane + v * kLanes) * 8;
      if (c < channels) store8(to + c, value[v]);
    }
  }
}

template <class T, int kLanes, int kVectors>
void launch(const ChannelNormTask& task, KernelStream stream) {
  constexpr std::int64_t kPositions = kThreads / kLanes;
  const RowSizes size{
      static_cast<std::uint32_t>(task.positions), static_cast<std::uint32_t>(task.frames),
      static_cast<std::uint32_t>(task.rows), static_cast<std::uint32_t>(task.columns)};
  const auto blocks = static_cast<unsigned>((task.positions + kPositions - 1) / kPositions);
  const float root = sqrtf(static_cast<float>(task.channels));
  position_per_lanes<T, kLanes, kVectors><<<blocks, kThreads, 0, stream>>>(task, size, root);
  check_launch("channel_norm");
}

// 96, 192 and 384 channels fill 3 vectors a lane; 160, 320 and 640 fill 5.
template <class T, int kLanes>
void launch_vectors(const ChannelNormTask& task, KernelStream stream) {
  if (task.channels <= kLanes * 3 * kVectorElements) return launch<T, kLanes, 3>(task, stream);
  launch<T, kLanes, 5>(task, stream);
}

template <class T>
void launch_lanes(const ChannelNormTask& task, KernelStream stream) {
  const std::int64_t vectors = task.channels / kVectorElements;
  if (vectors <= 20) return launch_vectors<T, 4>(task, stream);
  if (vectors <= 40) return launch_vectors<T, 8>(task, stream);
  if (vectors <= 80) return launch_vectors<T, 16>(task, stream);
  launch_vectors<T, 32>(task, stream);
}

}  // namespace

void channel_norm_launch(const ChannelNormTask& task, KernelStream stream) {
  if (task.positions == 0) return;
  if (task.element == Element::kBf16) return launch_lanes<__nv_bfloat16>(task, stream);
  launch_lanes<float>(task, stream);
}

}  // namespace wam
