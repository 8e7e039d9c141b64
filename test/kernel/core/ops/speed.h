#pragma once

#include <chrono>
#include <functional>

#include <ATen/core/Tensor.h>

#include "core/cuda/device.h"
#include "core/cuda/graph.h"

namespace wam::test {

// Microseconds of one `work`, without the host's share.
inline double microseconds(GraphPool& pool, const std::function<void()>& work) {
  constexpr int kCalls = 20;
  constexpr int kReplays = 10;
  DeviceGraph graph(pool, "a measurement", [&] {
    for (int i = 0; i < kCalls; ++i) work();
  });
  const at::Device device(at::kCUDA, 0);
  graph.replay();
  synchronize_device(device);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kReplays; ++i) graph.replay();
  synchronize_device(device);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / (kCalls * kReplays);
}

}  // namespace wam::test
