#include "core/cuda/late_read.h"

#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace wam {

LateRead::LateRead(const at::Tensor& values)
    : host_(at::empty(values.sizes(),
                      at::TensorOptions(values.scalar_type()).pinned_memory(!values.is_cpu()))) {
  host_.copy_(values.detach(), /*non_blocking=*/true);
  if (values.is_cpu()) return;
  const auto type = values.device().type();
  copied_.emplace(type);
  copied_->record(c10::impl::VirtualGuardImpl(type).getStream(values.device()));
}

const at::Tensor& LateRead::get() const {
  if (copied_) copied_->synchronize();
  return host_;
}

}  // namespace wam
