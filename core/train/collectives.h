#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace wam {

// Collectives over one axis of the mesh, as strategies and tensor-parallel layers call them. On a
// GPU they are enqueued on the current stream and do not wait for the host; on the CPU they are
// done when the call returns. Every rank of the axis makes the same calls in the same order with
// the same sizes. `what` is for messages: "the weights of blocks.3".
//
// Implementations: parallel/collectives. Errors: CommError naming operation, `what`, axis and rank.
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

  // In place, over all ranks of the axis; every rank gets the same bits.
  virtual void all_reduce_sum(at::Tensor& values, const std::string& what) = 0;
  // full (size * n) = concatenation over ranks of piece (n), which may be this rank's part of full.
  virtual void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) = 0;
  // piece (n), which may be this rank's part of full, = this rank's part of the sum over ranks of
  // full (size * n). The rest of full is undefined afterwards.
  virtual void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) = 0;
  // (numel) zeros on `device`, in memory from which gathers of this axis are fastest. All ranks
  // call it together. The memory may outlive the object.
  virtual at::Tensor allocate(std::int64_t numel, at::ScalarType type, at::Device device);
  // Ends what hangs on the device because another rank is gone, so that the stream drains. From any
  // thread; may return only when the graphs that hold these collectives are destroyed. The object
  // is useless afterwards. On the CPU a collective ends by itself.
  virtual void abort() {}
};

}  // namespace wam
