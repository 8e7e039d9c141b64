#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <c10/core/Device.h>

namespace wam {

struct CallTimes {
  double median_s = 0;
  double best_s = 0;
  double host_s = 0;  // median of the time until the call returns, with an idle device before it
};

// Times `count` calls after three others; the device is idle before each and waited for after it.
CallTimes time_calls(c10::Device device, std::int64_t count, const std::function<void()>& call);

// The middle one, the upper of two. `values` is not empty.
double median(std::vector<double> values);

}  // namespace wam
