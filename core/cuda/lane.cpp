#include "core/cuda/lane.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace wam {

void Mark::set(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl backend(device.type());
  if (!event_) event_.emplace(device.type());
  event_->record(backend.getStream(device));
}

void Mark::wait(c10::Device device) const {
  if (!event_) return;
  const c10::impl::VirtualGuardImpl backend(device.type());
  event_->block(backend.getStream(device));
}

void Mark::synchronize() const {
  if (event_) event_->synchronize();
}

Lane::Lane(c10::Device device) : device_(device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl backend(device.type());
  stream_ = backend.getStreamFromGlobalPool(device, /*isHighPriority=*/true);
}

void Lane::after_current() {
  if (!stream_) return;
  current_.set(device_);
  const Scope scope(*this);
  current_.wait(device_);
}

Lane::Scope::Scope(const Lane& lane) {
  if (lane.stream_) guard_.emplace(*lane.stream_);
}

}  // namespace wam
