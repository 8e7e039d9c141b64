#pragma once

#include <filesystem>
#include <functional>

#include <c10/core/Device.h>

#include "apps/wamtrain/bench/timeline.h"

namespace wam {

// Runs `work` under LibTorch's profiler. The device is idle before and after it.
//
// On a GPU the timeline has its kernels and copies, those inside graphs too. On the CPU it has
// LibTorch's operations, without the time in those that they call. With `trace`, a file for
// chrome://tracing or Perfetto, operations on the CPU are recorded beside the kernels. Errors: what
// `work` throws; DeviceError when the trace cannot be written.
Timeline profiled(c10::Device device,
                  const std::filesystem::path& trace,
                  const std::function<void()>& work);

}  // namespace wam
