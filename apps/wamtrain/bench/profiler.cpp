#include "apps/wamtrain/bench/profiler.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include <torch/csrc/autograd/profiler_kineto.h>

#include "core/base/errors.h"
#include "core/cuda/device.h"

namespace wam {
namespace {

namespace kineto = torch::autograd::profiler;

// libkineto::ActivityType, whose header LibTorch does not offer alone.
constexpr std::uint8_t kCpuOperation = 0;
constexpr std::uint8_t kMemcpy = 3;
constexpr std::uint8_t kMemset = 4;
constexpr std::uint8_t kKernel = 5;

struct CpuOperation {
  std::uint64_t thread = 0;
  DeviceEvent event;
};

DeviceEvent event_of(const kineto::KinetoEvent& event) {
  return {event.name(), static_cast<std::int64_t>(event.startNs()),
          static_cast<std::int64_t>(event.endNs())};
}

// The time that operations spend in themselves and not in those that they call: what is between
// these, piece by piece. The pieces add up to no more than the time that passed.
std::vector<DeviceEvent> own_pieces(std::vector<CpuOperation> operations) {
  std::sort(operations.begin(), operations.end(), [](const auto& a, const auto& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.event.start_ns != b.event.start_ns) return a.event.start_ns < b.event.start_ns;
    return a.event.end_ns > b.event.end_ns;
  });
  struct Open {
    DeviceEvent rest;  // from where its time is its own again
    std::uint64_t thread = 0;
  };
  std::vector<Open> open;
  std::vector<DeviceEvent> out;
  const auto close = [&] {
    out.push_back(open.back().rest);
    const std::int64_t end = out.back().end_ns;
    open.pop_back();
    if (!open.empty()) open.back().rest.start_ns = std::max(open.back().rest.start_ns, end);
  };
  for (const CpuOperation& next : operations) {
    while (!open.empty() &&
           (open.back().thread != next.thread || open.back().rest.end_ns <= next.event.start_ns)) {
      close();
    }
    if (!open.empty()) {
      DeviceEvent& caller = open.back().rest;
      out.push_back({caller.name, caller.start_ns, next.event.start_ns, caller.is_start});
      caller.is_start = false;
    }
    open.push_back({next.event, next.thread});
  }
  while (!open.empty()) close();
  return out;
}

Timeline timeline_of(const kineto::ProfilerResult& result, c10::Device device) {
  Timeline out;
  std::vector<CpuOperation> operations;
  for (const auto& event : result.events()) {
    const std::uint8_t type = event.activityType();
    if (device.is_cpu() && type == kCpuOperation && event.endNs() >= event.startNs()) {
      operations.push_back({event.startThreadId(), event_of(event)});
    }
    if (!device.is_cpu() && (type == kMemcpy || type == kMemset || type == kKernel)) {
      out.events.push_back(event_of(event));
    }
  }
  if (device.is_cpu()) out.events = own_pieces(std::move(operations));
  return out;
}

}  // namespace

Timeline profiled(c10::Device device,
                  const std::filesystem::path& trace,
                  const std::function<void()>& work) {
  std::set<kineto::ActivityType> activities;
  if (!device.is_cpu()) activities.insert(kineto::ActivityType::CUDA);
  if (device.is_cpu() || !trace.empty()) activities.insert(kineto::ActivityType::CPU);
  // CUPTI does not survive being torn down and set up again while graphs exist.
  setenv("TEARDOWN_CUPTI", "0", /*overwrite=*/0);
  setenv("DISABLE_CUPTI_LAZY_REINIT", "1", /*overwrite=*/0);
  // Without a GPU it would complain about that.
  if (device.is_cpu()) setenv("KINETO_LOG_LEVEL", "5", /*overwrite=*/0);
  const kineto::ProfilerConfig config(kineto::ProfilerState::KINETO);
  synchronize_device(device);
  kineto::prepareProfiler(config, activities);
  kineto::enableProfiler(config, activities);
  try {
    work();
    synchronize_device(device);
  } catch (...) {
    kineto::disableProfiler();
    throw;
  }
  const auto result = kineto::disableProfiler();
  if (!trace.empty()) {
    result->save(trace.string());
    require<DeviceError>(std::filesystem::exists(trace), "--profile {}: the trace was not written.",
                         trace.string());
  }
  return timeline_of(*result, device);
}

}  // namespace wam
