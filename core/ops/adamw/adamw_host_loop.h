#pragma once

// The one form of the host's update, for any width of vector; included by a source for each
// instruction set. All of it has internal linkage: code that was compiled for one set must not be
// taken for another by the linker. For the same reason such a source includes no library header
// that has inline functions.

#include <cstdint>

#include "core/ops/adamw/adamw_arguments.h"

namespace wam {
namespace {

// The options and the decision, once in every lane.
//
// V has a type Values of kWidth floats, and of them set, load, store, store_bf16 (to nearest even;
// 0x7FC0 for what is no number), mul, sub, add, div, sqrt, fma (a b + c) and fnma (c - a b).
template <class V>
struct Constants {
  explicit Constants(const AdamWUpdateArguments& a)
      : gradient_scale(V::set(a.decision->gradient_scale)),
        decay(V::set(a.decision->decay)),
        no_decay(V::set(0.0F)),
        step_size(V::set(a.decision->step_size)),
        bias_correction2_sqrt(V::set(a.decision->bias_correction2_sqrt)),
        beta1(V::set(a.beta1)),
        beta2(V::set(a.beta2)),
        epsilon(V::set(a.epsilon)) {}

  typename V::Values gradient_scale, decay, no_decay, step_size, bias_correction2_sqrt;
  typename V::Values beta1, beta2, epsilon;
};

// The elements [at, at + V::kWidth).
template <class V>
inline void update_values(const AdamWUpdateArguments& a,
                          const Constants<V>& c,
                          typename V::Values decay,
                          std::int64_t at) {
  using Values = typename V::Values;
  const Values g = V::div(V::load(a.gradient + at), c.gradient_scale);
  Values p = V::load(a.master + at);
  p = V::fnma(decay, p, p);
  const Values m = V::fma(c.beta1, V::load(a.exp_avg + at), V::fnma(c.beta1, g, g));
  const Values square = V::mul(g, g);
  const Values v = V::fma(c.beta2, V::load(a.exp_avg_sq + at), V::fnma(c.beta2, square, square));
  const Values denominator = V::add(V::div(V::sqrt(v), c.bias_correction2_sqrt), c.epsilon);
  p = V::sub(p, V::div(V::mul(c.step_size, m), denominator));
  V::store(a.master + at, p);
  V::store(a.exp_avg + at, m);
  V::store(a.exp_avg_sq + at, v);
  if (a.compute == nullptr) return;
  if (a.compute_type == Element::kBf16) {
    V::store_bf16(static_cast<std::uint16_t*>(a.compute) + at, p);
  } else {
    V::store(static_cast<float*>(a.compute) + at, p);
  }
}

constexpr std::int64_t kDecayStep = 64;  // elements that a decay bit covers

template <class V>
void update_range(const AdamWUpdateArguments& a, std::int64_t begin, std::int64_t end) {
  const Constants<V> c(a);
  const bool applies = a.decision->skipped == 0;
  for (std::int64_t segment = begin; segment < end && applies; segment += kDecayStep) {
    const std::int64_t bit = segment / kDecayStep;
    const bool decays = (a.decay_bits[bit / 8] >> (bit % 8) & 1) != 0;
    for (std::int64_t at = segment; at < segment + kDecayStep; at += V::kWidth) {
      update_values<V>(a, c, decays ? c.decay : c.no_decay, at);
    }
  }
  if (!a.zero_gradient) return;
  for (std::int64_t at = begin; at < end; at += V::kWidth) V::store(a.gradient + at, V::set(0.0F));
}

}  // namespace
}  // namespace wam
