#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "core/cuda/lane.h"
#include "core/cuda/pinned.h"
#include "core/train/offloaded_update.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/adamw_twin.h"
#include "test/support/catch.h"

namespace wam {
namespace {

using test::bytes_of;
using test::decided;
using test::kOptions;
using test::make_shard;

const at::Device kGpu(at::kCUDA, 0);

// State in page-locked memory, gradient and copy on the GPU.
AdamWShard offloaded(const AdamWShard& start) {
  AdamWShard out = start;
  for (auto* array : {&out.master, &out.exp_avg, &out.exp_avg_sq}) {
    const at::Tensor host = host_buffer({array->numel()}, at::kFloat, kGpu);
    *array = host.copy_(*array);
  }
  out.gradient = start.gradient.to(kGpu);
  out.compute = start.compute.to(kGpu);
  return out;
}

// Keeps the current stream busy for some milliseconds.
void delay() {
  const at::Tensor slow = at::full({4096, 4096}, 1.0, at::TensorOptions(kGpu).dtype(at::kFloat));
  for (int i = 0; i < 4; ++i) slow.mm(slow);
}

}  // namespace

TEST_CASE("an offloaded update from and to the GPU, in pieces of any size: the kernel's bits") {
  if (test::skipped_without_gpu()) return;
  WorkerPool workers(4);
  for (const auto compute : {at::kBFloat16, at::kFloat}) {
    const std::vector<AdamWShard> starts{make_shard({143, 13, 1, 70, 4096, 513}, compute),
                                         make_shard({}, compute), make_shard({1}, compute),
                                         make_shard({597 * 43, 7, 300'000}, compute)};
    for (const std::int64_t piece : {512, 5120, 8 * 1024 * 1024}) {
      std::vector<AdamWShard> on_device;
      std::vector<AdamWShard> on_host;
      std::vector<const AdamWShard*> pointers;
      for (const AdamWShard& start : starts) {
        on_device.push_back(test::on(start, kGpu, at::kFloat));
        on_host.push_back(offloaded(start));
      }
      for (const AdamWShard& shard : on_host) pointers.push_back(&shard);
      OffloadedUpdate offload(
          pointers, {.device = kGpu, .compute_type = compute, .piece_elements = piece}, workers);
      for (const std::int64_t update : {1, 2, 3}) {
        const AdamWControl control = decided(kGpu, update, 37.0);
        // Gradients that appear late, and whose buffers are overwritten at once afterwards: as
        // the micro-steps before and after do it.
        delay();
        for (std::size_t i = 0; i < starts.size(); ++i) {
          for (const AdamWShard* shard : {&on_device[i], &on_host[i]}) {
            at::Tensor gradient = shard->gradient;
            gradient.copy_(starts[i].gradient).mul_(static_cast<double>(update));
          }
        }
        for (const AdamWShard& shard : on_device) adamw_update(shard, control, kOptions);
        offload.run(control, kOptions);
        for (std::size_t i = 0; i < starts.size(); ++i) {
          const at::Tensor seen = on_host[i].compute.clone();  // by the current stream
          CHECK(seen.equal(on_device[i].compute));
          for (const AdamWShard* shard : {&on_device[i], &on_host[i]}) {
            at::Tensor gradient = shard->gradient;
            gradient.zero_();
          }
          CHECK((bytes_of(on_host[i]) == bytes_of(on_device[i])));
        }
      }
    }
  }
}

TEST_CASE("a lane and the current stream wait for each other where they are told to") {
  if (test::skipped_without_gpu()) return;
  const at::Tensor source = at::zeros({1 << 20}, at::TensorOptions(kGpu).dtype(at::kFloat));
  const at::Tensor copy = at::zeros_like(source);
  Lane lane(kGpu);
  Mark copied;
  for (const double value : {1.0, 2.0, 3.0}) {
    delay();
    source.fill_(value);
    lane.after_current();
    {
      const Lane::Scope scope(lane);
      delay();
      copy.copy_(source);
      copied.set(kGpu);
    }
    copied.wait(kGpu);
    CHECK(copy.eq(value).all().item<bool>());
    copied.synchronize();
  }
}

// GB/s of state, gradients and copies, and the share of the transfers: kernel_core_train "[speed]".
TEST_CASE("speed of an offloaded update", "[.][speed]") {
  if (test::skipped_without_gpu()) return;
  const AdamWShard shard = offloaded(make_shard({1LL << 27}, at::kBFloat16));
  WorkerPool workers(static_cast<unsigned>(at::get_num_threads()));
  const AdamWControl control = decided(kGpu, 3, 2.0);
  for (const std::int64_t mi : {2, 8, 32}) {
    OffloadedUpdate offload(
        {&shard},
        {.device = kGpu, .compute_type = at::kBFloat16, .piece_elements = mi * 1024 * 1024},
        workers);
    double best_s = 1e9;
    for (int i = 0; i < 5; ++i) {
      synchronize_device(kGpu);
      const auto start = std::chrono::steady_clock::now();
      offload.run(control, kOptions);
      synchronize_device(kGpu);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      best_s = std::min(best_s, took.count());
    }
    const double numel = static_cast<double>(shard.master.numel());
    std::printf(
        "pieces of %2lld Mi: %6.1f ms a G parameters; state %6.1f GB/s, in %5.1f GB/s, out %5.1f "
        "GB/s\n",
        static_cast<long long>(mi), best_s * 1e3 / (numel / 1e9), 30 * numel / best_s / 1e9,
        4 * numel / best_s / 1e9, 2 * numel / best_s / 1e9);
  }
}

}  // namespace wam
