#include "core/cuda/host_copy.h"

#include <utility>

#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include "core/cuda/device.h"
#include "core/cuda/pinned.h"

namespace wam {

HostCopy::HostCopy(std::vector<at::Tensor> sources, double free_share)
    : sources_(std::move(sources)), free_share_(free_share) {
  if (sources_.empty()) return;
  // A new thread's current device is the first one, where page-locking would open a context.
  const c10::DeviceGuard guard(sources_.front().device());
  for (const at::Tensor& source : sources_) {
    host_.push_back(host_buffer_for(source));
    bytes_ += static_cast<std::int64_t>(source.nbytes());
  }
  lane_.emplace(sources_.front().device());
}

void HostCopy::find_room() {
  if (std::exchange(looked_for_room_, true) || lane_->device().is_cpu()) return;
  const DeviceMemory memory = device_memory(lane_->device());
  const double rest = static_cast<double>(memory.free_bytes - bytes_);
  if (rest < free_share_ * static_cast<double>(memory.total_bytes)) return;
  for (const at::Tensor& source : sources_) aside_.push_back(at::empty_like(source));
}

void HostCopy::copy_to_host(const std::vector<at::Tensor>& from) {
  const Lane::Scope scope(*lane_);
  for (std::size_t i = 0; i < from.size(); ++i) host_[i].copy_(from[i], /*non_blocking=*/true);
  copied_.set(lane_->device());
}

void HostCopy::take() {
  if (!lane_) return;
  find_room();
  if (!sets_aside()) {
    lane_->after_current();
    // No record_stream: the sources outlive the copies, since this object holds them.
    copy_to_host(sources_);
    return;
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) aside_[i].copy_(sources_[i]);
  lane_->after_current();
  copy_to_host(aside_);
}

void HostCopy::before_overwrite() const {
  if (lane_ && !sets_aside()) copied_.wait(lane_->device());
}

void HostCopy::wait() const {
  copied_.synchronize();
}

}  // namespace wam
