#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include "core/train/step_times.h"

namespace wam {

// What the device, or the CPU, is busy with. kPause is no part of a step.
enum class Activity { kDataWait, kEncode, kForwardBackward, kUpdate, kCheckpoint, kOther, kPause };

// The parts of one step, known when the device has come to its end.
class StepSpan {
 public:
  // `wait_s`: seconds that it waited, by WaitCause, which are taken out of the parts they fell in.
  // On a GPU the step is complete. Errors: what LibTorch throws when it is not.
  [[nodiscard]] StepTimes times(const double* wait_s) const;

 private:
  friend class StepClock;
  struct Point {
    Activity activity;  // from here on
    double host_s = 0;
    std::shared_ptr<c10::Event> event = nullptr;  // on a GPU
  };
  [[nodiscard]] static double seconds(const Point& from, const Point& to);

  std::vector<Point> points_;  // the last one is the end
};

// Splits the time of steps: whoever begins something says so, and what follows belongs to it until
// the next word. On a GPU the time is the device's: a word is an event in the current stream, so
// what the host does while the device is at work takes no time, and what the device does not wait
// for is not counted. On the CPU it is the clock's.
//
// Never from within what a graph records. Threads: one.
class StepClock {
 public:
  using Now = std::function<double()>;  // seconds since any moment

  explicit StepClock(c10::Device device, Now now = monotonic_seconds);

  // A step begins, with kOther; what was before is forgotten.
  void start();
  void enter(Activity activity);
  // The step ends and the next one begins, with kOther.
  [[nodiscard]] StepSpan end_step();

 private:
  static double monotonic_seconds();

  c10::Device device_;
  Now now_;
  StepSpan span_;
};

}  // namespace wam
