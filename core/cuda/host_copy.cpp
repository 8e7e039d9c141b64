#include "core/cuda/host_copy.h"

#include <utility>

#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "core/cuda/pinned.h"

namespace wam {

HostCopy::HostCopy(std::vector<at::Tensor> sources) : sources_(std::move(sources)) {
  if (sources_.empty()) return;
  const c10::Device device = sources_.front().device();
  // A new thread's current device is the first one, where page-locking would open a context.
  const c10::DeviceGuard guard(device);
  for (const at::Tensor& source : sources_) host_.push_back(host_buffer_for(source));
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  copied_.emplace(device.type());
}

void HostCopy::take() {
  if (!stream_) {
    for (std::size_t i = 0; i < sources_.size(); ++i) host_[i].copy_(sources_[i]);
    return;
  }
  const c10::Device device = stream_->device();
  c10::Event told(device.type());
  told.record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  told.block(*stream_);
  // No record_stream: the sources outlive the copies, since this object holds them.
  const c10::StreamGuard guard(*stream_);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    host_[i].copy_(sources_[i], /*non_blocking=*/true);
  }
  copied_->record(*stream_);
}

void HostCopy::before_overwrite() const {
  if (!copied_) return;
  const c10::Device device = stream_->device();
  copied_->block(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

void HostCopy::wait() const {
  if (copied_) copied_->synchronize();
}

}  // namespace wam
