#pragma once

#include <chrono>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"
#include "core/train/step_times.h"

namespace wam {

// How long the work of lanes holds up what computes, in seconds by cause. On a GPU that is the time
// for which the current stream waits at a mark, taken and summed on the device by two kernels of
// one thread (3 us a wait), in recorded graphs too. On the CPU, where a lane's work happens at
// once, it is the time of that work.
//
// Threads: one, with one stream that computes.
class WaitTimes {
 public:
  explicit WaitTimes(c10::Device device);

  // The current stream waits here until the mark is reached.
  void wait(const Mark& mark, WaitCause cause);

  // Calls `work`, which tells a lane what to do and waits for nothing on a GPU.
  template <class Work>
  void in_lane(WaitCause cause, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    if (!device_.is_cpu()) return;
    add(cause, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  // (kNumWaitCauses) float64 on the device: seconds since the last call. Enqueued on the current
  // stream.
  at::Tensor take();

 private:
  void add(WaitCause cause, double seconds);

  c10::Device device_;
  at::Tensor sums_;   // by WaitCause, float64
  at::Tensor begun_;  // (1) int64, of a GPU: when the wait in hand began, in ns
};

}  // namespace wam
