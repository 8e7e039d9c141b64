#pragma once

#include <ATen/core/Tensor.h>

namespace wam {

// Collectives over one axis of the mesh, as strategies and tensor-parallel layers call them. On a
// GPU they are ordered on the stream they were built for and do not wait for the host.
// Every rank of the axis makes the same calls in the same order with the same sizes.
// Errors: CommError naming operation, axis and rank.
class Collectives {
 public:
  Collectives() = default;
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  Collectives(Collectives&&) = delete;
  Collectives& operator=(Collectives&&) = delete;
  virtual ~Collectives() = default;

  [[nodiscard]] virtual int axis_size() const = 0;
  [[nodiscard]] virtual int axis_rank() const = 0;

  // In place, over all ranks of the axis.
  virtual void all_reduce_sum(at::Tensor& values) = 0;
  // full (size * n) = concatenation over ranks of piece (n).
  virtual void all_gather(at::Tensor& full, const at::Tensor& piece) = 0;
  // piece (n) = this rank's part of the sum over ranks of full (size * n).
  virtual void reduce_scatter_sum(at::Tensor& piece, const at::Tensor& full) = 0;
  virtual void broadcast(at::Tensor& values, int root) = 0;
  // Host side: returns when every rank has called it.
  virtual void barrier() = 0;
};

}  // namespace wam
