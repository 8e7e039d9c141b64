#include "core/cuda/late_read.h"

#include <ATen/ops/empty.h>

namespace wam {

LateRead::LateRead(const at::Tensor& values)
    : host_(at::empty(values.sizes(),
                      at::TensorOptions(values.scalar_type()).pinned_memory(!values.is_cpu()))) {
  host_.copy_(values.detach(), /*non_blocking=*/true);
  copied_.set(values.device());
}

const at::Tensor& LateRead::get() const {
  copied_.synchronize();
  return host_;
}

}  // namespace wam
