#include "core/cuda/host_copy.h"

#include <utility>

#include <c10/core/DeviceGuard.h>

#include "core/cuda/pinned.h"

namespace wam {

HostCopy::HostCopy(std::vector<at::Tensor> sources) : sources_(std::move(sources)) {
  if (sources_.empty()) return;
  // A new thread's current device is the first one, where page-locking would open a context.
  const c10::DeviceGuard guard(sources_.front().device());
  for (const at::Tensor& source : sources_) host_.push_back(host_buffer_for(source));
  lane_.emplace(sources_.front().device());
}

void HostCopy::take() {
  if (!lane_) return;
  lane_->after_current();
  // No record_stream: the sources outlive the copies, since this object holds them.
  const Lane::Scope scope(*lane_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    host_[i].copy_(sources_[i], /*non_blocking=*/true);
  }
  copied_.set(lane_->device());
}

void HostCopy::before_overwrite() const {
  if (lane_) copied_.wait(lane_->device());
}

void HostCopy::wait() const {
  copied_.synchronize();
}

}  // namespace wam
