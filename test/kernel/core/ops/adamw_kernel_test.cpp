#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAFunctions.h>

#include "core/ops/adamw/adamw.h"
#include "core/ops/adamw/adamw_plain.h"
#include "core/random/counter.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kGpu(at::kCUDA, 0);
constexpr double kHalfUlp = 0x1p-24;  // of float32

// Betas that float32 has exactly, so that ATen's CPU code computes with the same ones; heavy decay,
// so that a segment in the wrong group shows.
const AdamWOptions kOptions{.beta1 = static_cast<float>(0.95),
                            .beta2 = static_cast<float>(0.999),
                            .epsilon = static_cast<float>(1e-8),
                            .weight_decay = 0.5};

at::Tensor draws(std::uint64_t which, std::int64_t count) {
  const at::Tensor out = at::zeros({count}, at::kFloat);
  CounterStream(5, Purpose::kSampleWorld, which).normals(out.mutable_data_ptr<float>(), count);
  return out;
}

// A shard in the middle of training: segments of odd sizes that decay in turns.
AdamWShard make_shard(const std::vector<std::int64_t>& sizes, at::ScalarType compute) {
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
  shard.decay_bits = make_decay_bits(shard.decayed, numel, kGpu);
  return shard;
}

AdamWShard on(const AdamWShard& shard, at::Device device, at::ScalarType type) {
  AdamWShard out = shard;
  for (auto* array : {&out.master, &out.exp_avg, &out.exp_avg_sq, &out.gradient}) {
    *array = array->to(device, type, /*non_blocking=*/false, /*copy=*/true);
  }
  out.compute = shard.compute.to(device, shard.compute.scalar_type(), false, true);
  return out;
}

// Decided for update n with this gradient norm.
AdamWControl decided(at::Device device, std::int64_t update, double norm, double rate = 0.01) {
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

std::string bytes_of(const AdamWShard& shard) {
  std::string out;
  for (const auto* array :
       {&shard.master, &shard.exp_avg, &shard.exp_avg_sq, &shard.gradient, &shard.compute}) {
    const at::Tensor host = array->cpu();
    out.append(static_cast<const char*>(host.const_data_ptr()), host.nbytes());
  }
  return out;
}

// The largest |found - expected| in units of what float32 may be off by at that element.
double worst(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& bound) {
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
Expected expected_of(const AdamWShard& start, std::int64_t update, double norm) {
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

void check_update(const AdamWShard& found, const Expected& e, double roundings) {
  CHECK(worst(found.exp_avg, e.after.exp_avg, e.exp_avg_bound) <= roundings);
  CHECK(worst(found.exp_avg_sq, e.after.exp_avg_sq, e.exp_avg_sq_bound) <= roundings);
  CHECK(worst(found.master, e.after.master, e.master_bound) <= roundings);
}

const std::vector<std::vector<std::int64_t>> kLayouts{
    {1}, {64, 64}, {143, 13, 1, 70, 512, 513}, {2048}, {2049, 1, 4096}, {597 * 43, 7, 100 * 1031}};

}  // namespace

TEST_CASE("AdamW kernel equals the twin in double, and ATen's kernel") {
  if (test::skipped_without_gpu()) return;
  for (const auto& sizes : kLayouts) {
    for (const std::int64_t update : {1, 2, 1000}) {
      for (const double norm : {0.5, 37.0}) {  // below and above the limit of the norm
        INFO(sizes.size() << " segments, update " << update << ", norm " << norm);
        const AdamWShard start = make_shard(sizes, at::kBFloat16);
        const Expected expected = expected_of(start, update, norm);
        const AdamWControl control = decided(kGpu, update, norm);

        const AdamWShard found = on(start, kGpu, at::kFloat);
        adamw_update(found, control, kOptions);
        const AdamWShard aten = on(start, kGpu, at::kFloat);
        adamw_update_plain(aten, control, kOptions);

        check_update(found, expected, 1);
        CHECK(at::equal(found.compute, found.master.to(at::kBFloat16)));
        // ATen takes its powers in float32: two units of 1, of 1 - beta^n.
        const double power = std::pow(kOptions.beta2, static_cast<double>(update));
        check_update(aten, expected, 1 + 4 / (1 - power));
      }
    }
  }
}

TEST_CASE("AdamW kernel: a copy in float32, none at all; padding stays zero") {
  if (test::skipped_without_gpu()) return;
  const AdamWShard start = make_shard({143, 13, 1, 70, 4096}, at::kFloat);
  const AdamWControl control = decided(kGpu, 3, 2.0);
  const AdamWShard with = on(start, kGpu, at::kFloat);
  AdamWShard without = on(start, kGpu, at::kFloat);
  without.compute = at::Tensor();

  adamw_update(with, control, kOptions);
  adamw_update(without, control, kOptions);

  CHECK(at::equal(with.compute, with.master));
  CHECK(at::equal(with.master, without.master));
  CHECK_FALSE(at::equal(with.master.cpu(), start.master));
  for (const auto* array : {&with.master, &with.exp_avg, &with.exp_avg_sq}) {
    CHECK(array->narrow(0, 143, 192 - 143).eq(0).all().item<bool>());
    CHECK(array->narrow(0, 192 + 13, 64 - 13).eq(0).all().item<bool>());
  }
}

TEST_CASE("AdamW kernel: a skipped update leaves everything; gradients are zeroed when asked to") {
  if (test::skipped_without_gpu()) return;
  AdamWOptions zeroing = kOptions;
  zeroing.zero_gradients = true;
  for (const double norm : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const AdamWShard shard = on(make_shard({143, 5000}, at::kBFloat16), kGpu, at::kFloat);
    const std::string before = bytes_of(shard);
    const AdamWControl control = decided(kGpu, 8, norm);
    CHECK(control.count.item<float>() == 7);

    adamw_update(shard, control, kOptions);
    CHECK((bytes_of(shard) == before));

    adamw_update(shard, control, zeroing);
    CHECK(shard.gradient.eq(0).all().item<bool>());
    shard.gradient.copy_(make_shard({143, 5000}, at::kBFloat16).gradient);
    CHECK((bytes_of(shard) == before));
  }
  const AdamWShard applied = on(make_shard({143, 5000}, at::kBFloat16), kGpu, at::kFloat);
  const AdamWShard zeroed = on(applied, kGpu, at::kFloat);
  adamw_update(applied, decided(kGpu, 8, 1), kOptions);
  adamw_update(zeroed, decided(kGpu, 8, 1), zeroing);
  CHECK(at::equal(zeroed.master, applied.master));
  CHECK(zeroed.gradient.eq(0).all().item<bool>());
}

TEST_CASE("AdamW kernel repeats bit for bit, on any stream; an empty shard is no work") {
  if (test::skipped_without_gpu()) return;
  const AdamWShard start = on(make_shard({597 * 43, 7}, at::kBFloat16), kGpu, at::kFloat);
  const AdamWShard first = on(start, kGpu, at::kFloat);
  const AdamWShard second = on(start, kGpu, at::kFloat);
  AdamWShard third = on(start, kGpu, at::kFloat);
  const at::Tensor gradient = third.gradient;
  adamw_update(first, decided(kGpu, 5, 3), kOptions);
  adamw_update(second, decided(kGpu, 5, 3), kOptions);
  test::on_other_stream(gradient, [&](const at::Tensor& late) {
    third.gradient = late;
    adamw_update(third, decided(kGpu, 5, 3), kOptions);
    return third.master;
  });
  third.gradient = gradient;
  CHECK((bytes_of(second) == bytes_of(first)));
  CHECK((bytes_of(third) == bytes_of(first)));

  const AdamWShard empty = on(make_shard({}, at::kBFloat16), kGpu, at::kFloat);
  adamw_update(empty, decided(kGpu, 5, 3), kOptions);
  c10::cuda::device_synchronize();
}

TEST_CASE("AdamW's decision on the GPU equals the plain twin's") {
  if (test::skipped_without_gpu()) return;
  // Units without a tensor, with one, with more than a warp has lanes; more units than warps.
  std::vector<std::int64_t> first{0, 0, 1, 34, 104};
  while (first.size() < 42) first.push_back(first.back() + 31);
  const std::int64_t num_units = static_cast<std::int64_t>(first.size()) - 1;
  const at::Tensor sums = draws(9, first.back()).to(at::kDouble).square();
  const auto decide = [&](at::Device device, const at::Tensor& tensor_sums,
                          const AdamWOptions& options, double rate, const AdamWControl& control) {
    const auto doubles = at::TensorOptions(device).dtype(at::kDouble);
    const UpdateResult result{.tensor_square_sums = tensor_sums.to(device),
                              .unit_square_sums = at::empty({num_units}, doubles),
                              .grad_norm = at::empty({}, doubles),
                              .skipped = at::empty({}, doubles)};
    control.learning_rate.fill_(rate);
    adamw_decide(result, at::tensor(first, at::kLong).to(device), control, options);
    return result;
  };
  const auto close = [](const at::Tensor& found, const at::Tensor& expected, double bound) {
    const at::Tensor e = expected.to(at::kDouble);
    return ((found.cpu().to(at::kDouble) - e).abs() <= e.abs() * bound).all().item<bool>();
  };
  for (const double clip : {0.0, 1.0, 1e6}) {
    AdamWOptions options = kOptions;
    options.clip_norm = clip;
    const AdamWControl gpu = make_adamw_control(kGpu);
    const AdamWControl cpu = make_adamw_control(at::kCPU);
    for (const std::int64_t count : {0, 1, 20, 100000}) {
      gpu.count.fill_(count);
      cpu.count.fill_(count);

      const UpdateResult found = decide(kGpu, sums, options, 1e-4, gpu);
      const UpdateResult expected = decide(at::kCPU, sums, options, 1e-4, cpu);

      // Sums of 1,300 positive numbers in another order; then one rounding to float32.
      CHECK(close(found.unit_square_sums, expected.unit_square_sums, 1300 * 0x1p-53));
      CHECK(close(found.grad_norm, expected.grad_norm, 1300 * 0x1p-53));
      CHECK(close(gpu.decision, cpu.decision, 2 * kHalfUlp));
      CHECK(found.skipped.item<double>() == 0);
      CHECK(gpu.count.item<float>() == static_cast<float>(count + 1));
    }
  }
  const at::Tensor bad = sums.clone();
  bad[60].fill_(std::nan(""));
  const AdamWControl control = make_adamw_control(kGpu);
  const UpdateResult found = decide(kGpu, bad, kOptions, 1e-4, control);
  CHECK(found.skipped.item<double>() == 1);
  CHECK(std::isnan(found.grad_norm.item<double>()));
  CHECK(found.unit_square_sums.isnan().sum().item<std::int64_t>() == 1);
  CHECK(found.unit_square_sums[3].isnan().item<bool>());
  CHECK(decide(kGpu, sums, kOptions, std::nan(""), control).skipped.item<double>() == 1);
  CHECK(control.count.item<float>() == 0);
}

}  // namespace wam
