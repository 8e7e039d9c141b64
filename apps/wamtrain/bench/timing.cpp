#include "apps/wamtrain/bench/timing.h"

#include <algorithm>
#include <chrono>

#include "core/base/errors.h"
#include "core/cuda/device.h"

namespace wam {

double median(std::vector<double> values) {
  invariant(!values.empty(), "a median of nothing");
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

CallTimes time_calls(c10::Device device, std::int64_t count, const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kWarmUp = 3;
  std::vector<double> whole;
  std::vector<double> host;
  for (std::int64_t i = 0; i < kWarmUp + count; ++i) {
    synchronize_device(device);
    const auto start = Clock::now();
    call();
    const auto returned = Clock::now();
    synchronize_device(device);
    if (i < kWarmUp) continue;
    host.push_back(std::chrono::duration<double>(returned - start).count());
    whole.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return {.median_s = median(whole),
          .best_s = *std::min_element(whole.begin(), whole.end()),
          .host_s = median(host)};
}

}  // namespace wam
