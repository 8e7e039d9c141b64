#include "core/cuda/graph.h"

#include <cstdio>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>

#include "core/base/errors.h"
#include "core/cuda/device.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kDevice(at::kCUDA, 0);

at::Tensor value(double v) {
  return at::full({1000}, v, at::TensorOptions(kDevice).dtype(at::kFloat));
}

}  // namespace

TEST_CASE("A graph does its work again at every replay, on what its inputs hold then") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  GraphPool pool(kDevice);
  at::Tensor in = value(0);
  at::Tensor sum = value(0);
  DeviceGraph graph(pool, "a sum", [&] { sum.add_((in * 2) + in); });
  CHECK(sum.abs().max().item<float>() == 0.0F);  // warm-up and recording added zeros

  in.fill_(1);
  graph.replay();
  in.fill_(10);
  graph.replay();

  CHECK(sum.min().item<float>() == 33.0F);
  CHECK(sum.max().item<float>() == 33.0F);
}

TEST_CASE("Two graphs of one pool do not disturb each other") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  GraphPool pool(kDevice);
  at::Tensor in = value(3);
  at::Tensor squares = value(0);
  at::Tensor cubes = value(0);
  DeviceGraph square(pool, "squares", [&] { squares.copy_(in * in); });
  DeviceGraph cube(pool, "cubes", [&] { cubes.copy_(in * in * in); });
  for (const double v : {2.0, 5.0}) {
    in.fill_(v);
    cube.replay();
    square.replay();
    CHECK(squares.max().item<double>() == v * v);
    CHECK(cubes.max().item<double>() == v * v * v);
  }
}

TEST_CASE("A pool serves again after its last graph is gone") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  GraphPool pool(kDevice);
  at::Tensor out = value(0);
  for (const double v : {1.0, 2.0}) {
    const DeviceGraph graph(pool, "a fill", [&] { out.copy_(at::full_like(out, v) * 2); });
  }
  DeviceGraph last(pool, "a fill", [&] { out.copy_(at::full_like(out, 4.0) * 2); });
  out.zero_();
  last.replay();
  CHECK(out.max().item<float>() == 8.0F);
}

TEST_CASE("What cannot be recorded is named") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  GraphPool pool(kDevice);
  const at::Tensor in = value(3);
  double seen = 0;
  std::string message;
  try {
    DeviceGraph graph(pool, "a step that reads the device",
                      [&] { seen = in.sum().item<double>(); });
  } catch (const DeviceError& error) {
    message = error.what();
  }
  CHECK_THAT(message, Catch::Contains("recording a step that reads the device as a CUDA graph"));
  CHECK_THAT(message, Catch::Contains("_local_scalar_dense cannot be recorded"));
  CHECK_THAT(message, Catch::Contains("Fix: "));
  CHECK(seen == 3000.0);  // the warm-up ran

  at::Tensor out = value(1);
  out.add_(in);  // the device is still usable
  CHECK(out.max().item<float>() == 4.0F);
}

}  // namespace wam
