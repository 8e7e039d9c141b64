#include <cuda_bf16.h>

#include "core/ops/adamw/adamw_kernel.h"

namespace wam {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
// A thread has so many times 4 elements of each array: 2 x 4 loads of 16 bytes are under way at
// once.
constexpr int kVectors = 2;

__device__ double warp_sum(double value) {
#pragma unroll
  for (int lane = 16; lane > 0; lane >>= 1) value += __shfl_xor_sync(0xffffffffU, value, lane);
  return value;
}

// Sums of [begin, end) for every lane.
__device__ double warp_sum_of(const double* values, std::int64_t begin, std::int64_t end) {
  double mine = 0;
  for (std::int64_t i = begin + threadIdx.x % 32; i < end; i += 32) mine += values[i];
  return warp_sum(mine);
}

__device__ void decide(const AdamWDecideArguments& a, double square_sum) {
  const double norm = sqrt(square_sum);
  const double rate = *a.learning_rate;
  const bool skipped = !(isfinite(norm) && isfinite(rate));
  const double update = static_cast<double>(*a.count) + 1;
  const double correction1 = 1 - pow(static_cast<double>(a.beta1), update);
  const double correction2 = 1 - pow(static_cast<double>(a.beta2), update);
  *a.grad_norm = norm;
  *a.skipped = skipped ? 1 : 0;
  if (!skipped) *a.count = static_cast<float>(update);
  AdamWDecision& d = *a.decision;
  const double scale = a.clip_norm > 0 ? fmax((norm + 1e-6) / a.clip_norm, 1.0) : 1.0;
  d.gradient_scale = static_cast<float>(scale);
  d.skipped = skipped ? 1.0F : 0.0F;
  d.update = static_cast<float>(update);
  d.decay = static_cast<float>(rate * a.weight_decay);
  d.step_size = static_cast<float>(rate / correction1);
  d.bias_correction2_sqrt = static_cast<float>(sqrt(correction2));
}

__global__ void __launch_bounds__(kThreads) decide_unit_per_warp(AdamWDecideArguments a) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (std::int64_t unit = warp; unit < a.num_units; unit += kWarps) {
    const double sum =
        warp_sum_of(a.tensor_square_sum, a.first_tensor[unit], a.first_tensor[unit + 1]);
    if (threadIdx.x % 32 == 0) a.unit_square_sum[unit] = sum;
  }
  __syncthreads();
  if (warp != 0) return;
  const double total = warp_sum_of(a.unit_square_sum, 0, a.num_units);
  if (threadIdx.x == 0) decide(a, total);
}

// ATen's adam_math (ATen/native/cuda/fused_adam_utils.cuh of LibTorch 2.11), operation by
// operation.
__device__ __forceinline__ void update_element(float& p,
                                               float& m,
                                               float& v,
                                               float g,
                                               float decay,
                                               const AdamWDecision& d,
                                               float beta1,
                                               float beta2,
                                               float epsilon) {
  g /= d.gradient_scale;
  p = fmaf(-decay, p, p);
  m = fmaf(beta1, m, fmaf(-beta1, g, g));
  const float square = g * g;
  v = fmaf(beta2, v, fmaf(-beta2, square, square));
  const float denominator = sqrtf(v) / d.bias_correction2_sqrt + epsilon;
  p -= d.step_size * m / denominator;
}

__device__ __forceinline__ void store_copy(__nv_bfloat16* compute, std::int64_t at, float4 p) {
  const __nv_bfloat162 pair[2] = {__floats2bfloat162_rn(p.x, p.y), __floats2bfloat162_rn(p.z, p.w)};
  __stcs(reinterpret_cast<uint2*>(compute) + at, *reinterpret_cast<const uint2*>(pair));
}

__device__ __forceinline__ void store_copy(float* compute, std::int64_t at, float4 p) {
  __stcs(reinterpret_cast<float4*>(compute) + at, p);
}

__device__ __forceinline__ bool decays(const std::uint8_t* bits, std::int64_t at) {
  const std::int64_t segment = at / 16;  // 16 vectors of 4 elements
  return (bits[segment / 8] >> (segment % 8) & 1) != 0;
}

// Every value is touched once, so all accesses of arrays are streaming. Loads come first and do not
// wait for the decision. Longer than other functions: the loads of all vectors must stand before
// the first store.
template <class T>
__global__ void __launch_bounds__(kThreads, 4)
    update_two_vectors_per_thread(AdamWUpdateArguments a) {
  auto* const gradient = reinterpret_cast<float4*>(a.gradient);
  auto* const master = reinterpret_cast<float4*>(a.master);
  auto* const exp_avg = reinterpret_cast<float4*>(a.exp_avg);
  auto* const exp_avg_sq = reinterpret_cast<float4*>(a.exp_avg_sq);
  const std::int64_t end = a.numel / 4;
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kVectors) + threadIdx.x;
  const float4 zero = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  float4 g[kVectors], p[kVectors], m[kVectors], v[kVectors];
  bool decayed[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const std::int64_t at = first + i * kThreads;
    const bool in = at < end;
    g[i] = in ? __ldcs(gradient + at) : zero;
    p[i] = in ? __ldcs(master + at) : zero;
    m[i] = in ? __ldcs(exp_avg + at) : zero;
    v[i] = in ? __ldcs(exp_avg_sq + at) : zero;
    decayed[i] = in && decays(a.decay_bits, at);
  }
  const AdamWDecision d = *a.decision;
  const bool applies = d.skipped == 0;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const std::int64_t at = first + i * kThreads;
    if (at >= end) return;
    if (a.zero_gradient) __stcs(gradient + at, zero);
    if (!applies) continue;
    const float decay = decayed[i] ? d.decay : 0.0F;
    update_element(p[i].x, m[i].x, v[i].x, g[i].x, decay, d, a.beta1, a.beta2, a.epsilon);
    update_element(p[i].y, m[i].y, v[i].y, g[i].y, decay, d, a.beta1, a.beta2, a.epsilon);
    update_element(p[i].z, m[i].z, v[i].z, g[i].z, decay, d, a.beta1, a.beta2, a.epsilon);
    update_element(p[i].w, m[i].w, v[i].w, g[i].w, decay, d, a.beta1, a.beta2, a.epsilon);
    __stcs(master + at, p[i]);
    __stcs(exp_avg + at, m[i]);
    __stcs(exp_avg_sq + at, v[i]);
    if (a.compute != nullptr) store_copy(static_cast<T*>(a.compute), at, p[i]);
  }
}

}  // namespace

void adamw_decide_cuda(const AdamWDecideArguments& arguments, KernelStream stream) {
  decide_unit_per_warp<<<1, kThreads, 0, stream>>>(arguments);
  check_launch("decide_unit_per_warp");
}

void adamw_update_cuda(const AdamWUpdateArguments& arguments, KernelStream stream) {
  if (arguments.numel == 0) return;
  constexpr std::int64_t kElements = 4LL * kThreads * kVectors;
  const auto blocks = static_cast<unsigned>((arguments.numel + kElements - 1) / kElements);
  if (arguments.compute_type == Element::kBf16) {
    update_two_vectors_per_thread<__nv_bfloat16><<<blocks, kThreads, 0, stream>>>(arguments);
  } else {
    update_two_vectors_per_thread<float><<<blocks, kThreads, 0, stream>>>(arguments);
  }
  check_launch("update_two_vectors_per_thread");
}

}  // namespace wam
