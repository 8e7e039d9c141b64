#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "core/ops/adamw/adamw.h"
#include "core/ops/adamw/adamw_plain.h"
#include "core/random/counter.h"
#include "test/support/catch.h"

// Shards in the middle of training, and what the twin in double makes of them: for the tests of
// every form of adamw_update.
namespace wam::test {

inline constexpr double kHalfUlp = 0x1p-24;  // of float32

// Betas that float32 has exactly, so that ATen's CPU code computes with the same ones; heavy decay,
// so that a segment in the wrong group shows.
inline const AdamWOptions kOptions{.beta1 = static_cast<float>(0.95),
                                   .beta2 = static_cast<float>(0.999),
                                   .epsilon = static_cast<float>(1e-8),
                                   .weight_decay = 0.5};

inline at::Tensor draws(std::uint64_t which, std::int64_t count) {
  const at::Tensor out = at::zeros({count}, at::kFloat);
  CounterStream(5, Purpose::kSampleWorld, which).normals(out.mutable_data_ptr<float>(), count);
  return out;
}

// A shard in the middle of training: segments of odd sizes that decay in turns.
inline AdamWShard make_shard(const std::vector<std::int64_t>& sizes, at::ScalarType compute) {
  AdamWShard shard;
  std::int64_t numel = 0;
  for (const std::int64_t size : sizes) {
    const FlatSegment segment{numel, size};
    (shard.decayed.size() > shard.plain.size() ? shard.plain : shard.decayed).push_back(segment);
    numel = segment.padded_end();
  }
  const at::Tensor inside = at::zeros({numel}, at::kFloat);
  for (const auto* group : {&shard.decayed, &shard.plain}) {
    for (const FlatSegment& s : *group) inside.narrow(0, s.begin, s.numel).fill_(1);
  }
  shard.master = draws(0, numel).mul_(inside);
  shard.exp_avg = draws(1, numel).mul_(inside).mul_(1e-3);
  shard.exp_avg_sq = draws(2, numel).square_().mul_(inside).mul_(1e-6);
  shard.gradient = draws(3, numel).mul_(inside).mul_(1e-2);
  shard.compute = at::zeros({numel}, compute);
  shard.decay_bits = make_decay_bits(shard.decayed, numel, at::kCPU);
  return shard;
}

inline AdamWShard on(const AdamWShard& shard, at::Device device, at::ScalarType type) {
  AdamWShard out = shard;
  for (auto* array : {&out.master, &out.exp_avg, &out.exp_avg_sq, &out.gradient}) {
    *array = array->to(device, type, /*non_blocking=*/false, /*copy=*/true);
  }
  out.compute = shard.compute.to(device, shard.compute.scalar_type(), false, true);
  out.decay_bits = shard.decay_bits.to(device);
  return out;
}

// Decided for update n with this gradient norm.
inline AdamWControl decided(at::Device device,
                            std::int64_t update,
                            double norm,
                            double rate = 0.01) {
  const AdamWControl control = make_adamw_control(device);
  const auto doubles = at::TensorOptions(device).dtype(at::kDouble);
  const UpdateResult result{.tensor_square_sums = at::zeros({1}, doubles).fill_(norm * norm),
                            .unit_square_sums = at::empty({1}, doubles),
                            .grad_norm = at::empty({}, doubles),
                            .skipped = at::empty({}, doubles)};
  control.learning_rate.fill_(rate);
  control.count.fill_(update - 1);
  adamw_decide(result, at::tensor({0, 1}, at::kLong).to(device), control, kOptions);
  return control;
}

inline std::string bytes_of(const AdamWShard& shard) {
  std::string out;
  for (const auto* array :
       {&shard.master, &shard.exp_avg, &shard.exp_avg_sq, &shard.gradient, &shard.compute}) {
    const at::Tensor host = array->cpu();
    out.append(static_cast<const char*>(host.const_data_ptr()), host.nbytes());
  }
  return out;
}

// The largest |found - expected| in units of what float32 may be off by at that element.
inline double worst(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& bound) {
  const at::Tensor error = (found.to(at::kCPU, at::kDouble) - expected.cpu()).abs();
  REQUIRE(expected.isfinite().all().item<bool>());
  CHECK(error.masked_select(bound.eq(0)).eq(0).all().item<bool>());
  return (error / bound.clamp_min(1e-300)).max().item<double>();
}

struct Expected {
  AdamWShard after;  // in double
  at::Tensor master_bound, exp_avg_bound, exp_avg_sq_bound;
};

// The twin in double, and by how much float32 may differ: half a unit in the last place for each
// rounding of a chain, relative to the sum of the sizes of what is added.
inline Expected expected_of(const AdamWShard& start, std::int64_t update, double norm) {
  Expected e;
  e.after = on(start, at::kCPU, at::kDouble);
  const AdamWControl control = decided(at::kCPU, update, norm);
  adamw_update_plain(e.after, control, kOptions);
  const double scale = control.decision[0].item<double>();
  const at::Tensor g = start.gradient.to(at::kDouble).abs() / scale;
  const at::Tensor m =
      kOptions.beta1 * start.exp_avg.to(at::kDouble).abs() + (1 - kOptions.beta1) * g;
  // g, the inner and the outer sum. 1 - beta1 is exact in neither, hence one of beta's own size.
  e.exp_avg_bound = 4 * kHalfUlp * m;
  // g twice, its square, the inner and the outer sum.
  e.exp_avg_sq_bound = 6 * kHalfUlp * e.after.exp_avg_sq;
  const double step_size = control.decision[4].item<double>();
  const at::Tensor denominator =
      e.after.exp_avg_sq.sqrt() / control.decision[5].item<double>() + kOptions.epsilon;
  // m: 4; half of v's 6; root, quotient, its divisor, sum and epsilon: 5; step size, product,
  // quotient: 3.
  e.master_bound = kHalfUlp * (2 * start.master.to(at::kDouble).abs() + e.after.master.abs() +
                               15 * step_size * m / denominator);
  return e;
}

inline void check_update(const AdamWShard& found, const Expected& e, double roundings) {
  CHECK(worst(found.exp_avg, e.after.exp_avg, e.exp_avg_bound) <= roundings);
  CHECK(worst(found.exp_avg_sq, e.after.exp_avg_sq, e.exp_avg_sq_bound) <= roundings);
  CHECK(worst(found.master, e.after.master, e.master_bound) <= roundings);
}

inline const std::vector<std::vector<std::int64_t>> kLayouts{
    {1}, {64, 64}, {143, 13, 1, 70, 512, 513}, {2048}, {2049, 1, 4096}, {597 * 43, 7, 100 * 1031}};

}  // namespace wam::test
