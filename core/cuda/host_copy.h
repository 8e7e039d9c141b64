#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"

namespace wam {

// Copies of large tensors in host memory, taken while the device goes on: a lane of its own copies,
// and only what would overwrite the tensors waits for it.
//
// Threads: one takes copies and says `before_overwrite`; any other may `wait`.
class HostCopy {
 public:
  // Allocates the memory: page-locked for tensors on a GPU, a second for tens of GB. The
  // tensors are of one device, and stay where they are. Errors: DeviceError with the size.
  explicit HostCopy(std::vector<at::Tensor> sources);

  // Enqueues the copies behind what the current stream was told so far, and does not wait. On the
  // CPU they are done when it returns. Not while somebody reads `host`.
  void take();
  // What the current stream is told after this happens after the copies. The host does not wait.
  void before_overwrite() const;
  // The host waits until `host` holds the copies.
  void wait() const;

  [[nodiscard]] const std::vector<at::Tensor>& host() const noexcept { return host_; }

 private:
  std::vector<at::Tensor> sources_;
  std::vector<at::Tensor> host_;
  std::optional<Lane> lane_;  // none: nothing to copy
  Mark copied_;
};

}  // namespace wam
