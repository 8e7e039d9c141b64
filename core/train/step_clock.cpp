#include "core/train/step_clock.h"

#include <array>
#include <chrono>
#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace wam {

double StepSpan::seconds(const Point& from, const Point& to) {
  if (from.event == nullptr) return to.host_s - from.host_s;
  return 1e-3 * from.event->elapsedTime(*to.event);
}

StepTimes StepSpan::times(const double* wait_s) const {
  std::array<double, static_cast<std::size_t>(Activity::kPause) + 1> sums{};
  for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
    sums.at(static_cast<std::size_t>(points_[i].activity)) += seconds(points_[i], points_[i + 1]);
  }
  const auto of = [&](Activity activity) { return sums.at(static_cast<std::size_t>(activity)); };
  const auto waited = [&](WaitCause cause) { return wait_s[static_cast<std::size_t>(cause)]; };
  const double gather_s = waited(WaitCause::kGather);
  const double reduce_s = waited(WaitCause::kReduce);
  const double share_s = waited(WaitCause::kShareWeights);
  const double norms_s = waited(WaitCause::kSumNorms);
  const double losses_s = waited(WaitCause::kSumLosses);
  return {.step_s = seconds(points_.front(), points_.back()) - of(Activity::kPause),
          .forward_backward_s = of(Activity::kForwardBackward) - gather_s - reduce_s,
          .encode_s = of(Activity::kEncode),
          .update_s = of(Activity::kUpdate) - share_s - norms_s,
          .exposed_gather_s = gather_s + share_s,
          .exposed_reduce_s = reduce_s + norms_s + losses_s,
          .data_wait_s = of(Activity::kDataWait),
          .checkpoint_s = of(Activity::kCheckpoint),
          .other_s = of(Activity::kOther) - losses_s};
}

StepClock::StepClock(c10::Device device, Now now) : device_(device), now_(std::move(now)) {
  start();
}

void StepClock::start() {
  span_.points_.clear();
  enter(Activity::kOther);
}

void StepClock::enter(Activity activity) {
  if (device_.is_cpu()) {
    span_.points_.push_back({.activity = activity, .host_s = now_()});
    return;
  }
  const c10::impl::VirtualGuardImpl backend(device_.type());
  auto event = std::make_shared<c10::Event>(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  event->record(backend.getStream(device_));
  span_.points_.push_back({.activity = activity, .event = std::move(event)});
}

StepSpan StepClock::end_step() {
  enter(Activity::kOther);
  StepSpan ended;
  ended.points_.push_back(span_.points_.back());
  std::swap(ended.points_, span_.points_);
  return ended;
}

double StepClock::monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace wam
