#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// Uninitialised host memory to copy a large `like` into: page-locked when `like` is on a GPU,
// ordinary otherwise. Exactly its size, where LibTorch's pinned allocator rounds up to a power of
// two (half as much again for the state of a 5B model). Freed with the tensor; the caller waits for
// copies. Errors: DeviceError with the size.
at::Tensor host_buffer_for(const at::Tensor& like);

}  // namespace wam
