#include "apps/wamtrain/bench/profiler.h"

#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/bench/synthetic.h"
#include "core/cuda/graph.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::KernelClass;

TEST_CASE("profiler: the kernels of a graph that was recorded before are seen one by one") {
  if (wam::test::skipped_without_gpu()) return;
  const at::Device device(at::kCUDA, 0);
  const at::Tensor x = wam::random_values({4096, 4096}, device, at::kBFloat16, 1.0);
  at::Tensor y = at::empty({4096, 4096}, x.options());
  wam::GraphPool pool(device);
  wam::DeviceGraph graph(pool, "a product and a sum", [&] {
    at::mm_out(y, x, x);
    y.add_(1);
  });
  const wam::test::TempFolder folder;

  for (int round = 0; round < 2; ++round) {
    const auto timeline =
        wam::profiled(device, round == 0 ? "" : folder.path() / "trace.json", [&] {
          for (int i = 0; i < 8; ++i) graph.replay();
        });

    // 8 products of 0.14 TFLOP.
    const auto classes = timeline.ms_by_class();
    REQUIRE(classes.count(KernelClass::kMatrix) == 1);
    CHECK(classes.at(KernelClass::kMatrix) > 8 * 0.1);
    CHECK(classes.at(KernelClass::kMatrix) < 8 * 1.0);
    CHECK(classes.count(KernelClass::kElementwise) == 1);
    CHECK(timeline.launches() >= 16);
    CHECK(timeline.idle_share() >= 0);
    CHECK(timeline.idle_share() < 0.5);
  }
  std::ifstream trace(folder.path() / "trace.json");
  CHECK_FALSE(nlohmann::json::parse(trace)["traceEvents"].empty());
}

TEST_CASE("profiler: where the device waits for the host, it is idle") {
  if (wam::test::skipped_without_gpu()) return;
  const at::Device device(at::kCUDA, 0);
  const at::Tensor x = wam::random_values({1 << 20}, device, at::kFloat, 1.0);

  const auto timeline = wam::profiled(device, "", [&] {
    for (int i = 0; i < 20; ++i) static_cast<void>((x + 1).sum().item<float>());
  });

  CHECK(timeline.idle_share() > 0.3);
}
