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
#include "test/support/adamw_twin.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kGpu(at::kCUDA, 0);
using test::bytes_of;
using test::check_update;
using test::decided;
using test::draws;
using test::Expected;
using test::expected_of;
using test::kHalfUlp;
using test::kLayouts;
using test::kOptions;
using test::make_shard;
using test::on;

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

TEST_CASE("AdamW kernel and AdamW over host memory: the same bits") {
  if (test::skipped_without_gpu()) return;
  for (const auto compute : {at::kBFloat16, at::kFloat}) {
    const AdamWShard start = make_shard({597 * 43, 7, 100 * 1031}, compute);
    const AdamWShard device = on(start, kGpu, at::kFloat);
    const AdamWShard host = on(start, at::kCPU, at::kFloat);
    for (const std::int64_t update : {1, 2, 1000}) {
      const AdamWControl control = decided(kGpu, update, 37.0);
      const AdamWControl same{.learning_rate = control.learning_rate.cpu(),
                              .count = control.count.cpu(),
                              .decision = control.decision.cpu()};
      adamw_update(device, control, kOptions);
      adamw_update(host, same, kOptions);
      CHECK((bytes_of(device) == bytes_of(host)));
    }
  }
}

TEST_CASE("AdamW kernel: a copy in float32, none at all, padding stays zero") {
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

TEST_CASE("AdamW kernel: a skipped update leaves everything, gradients are zeroed when asked to") {
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

TEST_CASE("AdamW kernel repeats bit for bit, on any stream, an empty shard is no work") {
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
