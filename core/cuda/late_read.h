#pragma once

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"

namespace wam {

// A few numbers on their way to the host: the copy is enqueued behind the work that makes them, and
// read when it is there, while the device goes on with what came after. On the CPU nothing waits.
//
// Threads: one.
class LateRead {
 public:
  // Enqueues the copy on the current stream and does not wait. Later writes to `values` by that
  // stream do not show.
  explicit LateRead(const at::Tensor& values);

  // The numbers on the host. Waits for the copy, and for nothing that was enqueued after it.
  [[nodiscard]] const at::Tensor& get() const;

 private:
  at::Tensor host_;  // page-locked for a GPU
  Mark copied_;
};

}  // namespace wam
