#pragma once

#include <ATen/core/Tensor.h>

#include "core/cuda/kernel.h"

namespace wam {

// Whether this source was built for GPUs. `if constexpr (kBuiltForCuda)` keeps the name of a
// launcher out of builds that have none.
#ifdef WAM_WITH_CUDA
inline constexpr bool kBuiltForCuda = true;
#else
inline constexpr bool kBuiltForCuda = false;
#endif

// Who computes an operation on `x`: a kernel of ours (bf16 and fp32 on a GPU), else its plain twin.
inline bool runs_kernel(const at::Tensor& x) {
  return kBuiltForCuda && x.is_cuda() &&
         (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kFloat);
}

inline Element element_of(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? Element::kBf16 : Element::kFloat;
}

// LibTorch's current stream on the current device; kernels are ordered on it.
KernelStream current_stream();

// Throws InvariantError unless the last dimension of `x` is contiguous and every row of it can be
// read kVectorElements at a time. `name` is the tensor's in the message.
void check_vector_rows(const at::Tensor& x, const char* name);

}  // namespace wam
