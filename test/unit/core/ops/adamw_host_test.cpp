#include "core/ops/adamw/adamw_host.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>

#include <ATen/ops/equal.h>

#include "test/support/adamw_twin.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using test::bytes_of;
using test::decided;
using test::kOptions;
using test::make_shard;
using test::on;

AdamWUpdateArguments arguments_of(const AdamWShard& shard, const AdamWControl& control) {
  return {
      .master = shard.master.mutable_data_ptr<float>(),
      .exp_avg = shard.exp_avg.mutable_data_ptr<float>(),
      .exp_avg_sq = shard.exp_avg_sq.mutable_data_ptr<float>(),
      .gradient = shard.gradient.mutable_data_ptr<float>(),
      .compute = shard.compute.mutable_data_ptr(),
      .compute_type = shard.compute.scalar_type() == at::kFloat ? Element::kFloat : Element::kBf16,
      .decay_bits = shard.decay_bits.const_data_ptr<std::uint8_t>(),
      .numel = shard.master.numel(),
      .decision = reinterpret_cast<const AdamWDecision*>(control.decision.const_data_ptr()),
      .beta1 = static_cast<float>(kOptions.beta1),
      .beta2 = static_cast<float>(kOptions.beta2),
      .epsilon = static_cast<float>(kOptions.epsilon),
      .zero_gradient = false};
}

// Numbers at the ends of what a float can be, beside ordinary ones; and what is none.
void add_extremes(const AdamWShard& shard) {
  const float extremes[] = {0.0F,
                            -0.0F,
                            std::numeric_limits<float>::denorm_min(),
                            -std::numeric_limits<float>::min() / 3,
                            std::numeric_limits<float>::max(),
                            1e-30F,
                            -3e19F,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  std::int64_t at = 0;
  for (const auto* array : {&shard.master, &shard.exp_avg, &shard.gradient}) {
    for (const float value : extremes) {
      if (at < array->numel()) (*array)[at++].fill_(value);
    }
  }
}

// One set of instructions against the twin in double, and against the scalar code bit for bit.
void check_instruction_set(InstructionSet set) {
  WorkerPool workers(2);
  for (const auto& sizes : test::kLayouts) {
    for (const std::int64_t update : {1, 2, 1000}) {
      for (const double norm : {0.5, 37.0}) {  // below and above the limit of the norm
        INFO(sizes.size() << " segments, update " << update << ", norm " << norm);
        const AdamWShard start = make_shard(sizes, at::kBFloat16);
        const AdamWControl control = decided(at::kCPU, update, norm);
        const AdamWShard found = on(start, at::kCPU, at::kFloat);
        adamw_update_host(arguments_of(found, control), workers, set);

        test::check_update(found, test::expected_of(start, update, norm), 1);
        CHECK(at::equal(found.compute, found.master.to(at::kBFloat16)));
      }
    }
  }
  for (const auto compute : {at::kBFloat16, at::kFloat}) {
    AdamWShard found = make_shard({143, 13, 1, 70, 597 * 43, 100 * 1031}, compute);
    add_extremes(found);
    const AdamWShard scalar = on(found, at::kCPU, at::kFloat);
    for (const std::int64_t update : {1, 2, 1000}) {
      const AdamWControl control = decided(at::kCPU, update, 2.0);
      adamw_update_host(arguments_of(found, control), workers, set);
      adamw_update_host(arguments_of(scalar, control), workers, InstructionSet::kScalar);
      CHECK((bytes_of(found) == bytes_of(scalar)));
    }
  }
}

}  // namespace

TEST_CASE("AdamW over host memory, scalar code: equals the twin in double") {
  check_instruction_set(InstructionSet::kScalar);
}

TEST_CASE("AdamW over host memory, AVX2: equals the twin, and the scalar code bit for bit") {
  if (!has_instruction_set(InstructionSet::kAvx2)) {
    std::puts("SKIPPED: this processor has no AVX2");
    return;
  }
  check_instruction_set(InstructionSet::kAvx2);
}

TEST_CASE("AdamW over host memory, AVX-512: equals the twin, and the scalar code bit for bit") {
  if (!has_instruction_set(InstructionSet::kAvx512)) {
    std::puts("SKIPPED: this processor has no AVX-512");
    return;
  }
  check_instruction_set(InstructionSet::kAvx512);
}

TEST_CASE("AdamW over host memory: the same bits with any number of threads") {
  const AdamWShard start = make_shard({597 * 43, 7, 100 * 1031, 300'000}, at::kBFloat16);
  const AdamWControl control = decided(at::kCPU, 5, 3);
  const AdamWShard alone = on(start, at::kCPU, at::kFloat);
  adamw_update(alone, control, kOptions);
  for (const unsigned threads : {2U, 3U, 16U}) {
    WorkerPool workers(threads);
    const AdamWShard shared = on(start, at::kCPU, at::kFloat);
    adamw_update(shared, control, kOptions, &workers);
    CHECK((bytes_of(shared) == bytes_of(alone)));
  }
}

TEST_CASE("AdamW over host memory: no copy wanted, padding, skipped updates, zeroed gradients") {
  const AdamWShard start = make_shard({143, 13, 1, 70, 4096}, at::kFloat);
  const AdamWShard with = on(start, at::kCPU, at::kFloat);
  AdamWShard without = on(start, at::kCPU, at::kFloat);
  without.compute = at::Tensor();
  adamw_update(with, decided(at::kCPU, 3, 2), kOptions);
  adamw_update(without, decided(at::kCPU, 3, 2), kOptions);
  CHECK(at::equal(with.compute, with.master));
  CHECK(at::equal(with.master, without.master));
  CHECK_FALSE(at::equal(with.master, start.master));
  for (const auto* array : {&with.master, &with.exp_avg, &with.exp_avg_sq}) {
    CHECK(array->narrow(0, 143, 192 - 143).eq(0).all().item<bool>());
  }

  AdamWOptions zeroing = kOptions;
  zeroing.zero_gradients = true;
  const AdamWShard skipped = on(start, at::kCPU, at::kFloat);
  const AdamWControl control = decided(at::kCPU, 8, std::nan(""));
  adamw_update(skipped, control, kOptions);
  CHECK((bytes_of(skipped) == bytes_of(start)));
  adamw_update(skipped, control, zeroing);
  CHECK(skipped.gradient.eq(0).all().item<bool>());
  skipped.gradient.copy_(start.gradient);
  CHECK((bytes_of(skipped) == bytes_of(start)));

  const AdamWShard zeroed = on(start, at::kCPU, at::kFloat);
  adamw_update(zeroed, decided(at::kCPU, 3, 2), zeroing);
  CHECK(at::equal(zeroed.master, with.master));
  CHECK(zeroed.gradient.eq(0).all().item<bool>());
}

// Bytes a second by instruction set: unit_core_ops_adamw "[speed]".
TEST_CASE("speed of AdamW over host memory", "[.][speed]") {
  const AdamWShard shard = make_shard({32 * 1024 * 1024}, at::kBFloat16);
  const AdamWControl control = decided(at::kCPU, 5, 3);
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  for (const unsigned threads : {1U, cores}) {
    WorkerPool workers(threads);
    for (const auto& [set, name] :
         {std::pair{InstructionSet::kScalar, "scalar"}, std::pair{InstructionSet::kAvx2, "AVX2"},
          std::pair{InstructionSet::kAvx512, "AVX-512"}}) {
      if (!has_instruction_set(set)) continue;
      double best_s = 1e9;
      for (int i = 0; i < 6; ++i) {
        const auto start = std::chrono::steady_clock::now();
        adamw_update_host(arguments_of(shard, control), workers, set);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best_s = std::min(best_s, took.count());
      }
      const double bytes = 30.0 * static_cast<double>(shard.master.numel());
      std::printf("%-8s %3u threads %8.1f GB/s\n", name, threads, bytes / best_s / 1e9);
    }
  }
}

}  // namespace wam
