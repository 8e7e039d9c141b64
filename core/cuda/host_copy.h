#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"

namespace wam {

// Copies of large tensors in host memory, taken while the device goes on. Where the device has room
// for them, they are first set aside there, in milliseconds, and travel from there while the
// tensors change. Where it has not, they travel from where they are, and what would overwrite the
// tensors waits: beneath training a link to the host gave a quarter of its rate.
//
// Threads: one takes copies and says `before_overwrite`; another one may `wait`.
class HostCopy {
 public:
  // What a device keeps free beside copies that are set aside, by its size.
  static constexpr double kFreeShare = 0.1;

  // Allocates the memory: page-locked for tensors on a GPU, a second for tens of GB. The tensors
  // are of one device, and stay where they are. `free_share`: other than kFreeShare in tests.
  // Errors: DeviceError with the size.
  explicit HostCopy(std::vector<at::Tensor> sources, double free_share = kFreeShare);

  // Enqueues the copies behind what the current stream was told so far, and does not wait. On the
  // CPU they are done when it returns. Not while somebody reads `host`. The first one finds out
  // whether the device has room, and keeps it.
  void take();
  // What the current stream is told after this happens after the copies. The host does not wait.
  void before_overwrite() const;
  // The host waits until `host` holds the copies. After each `take`.
  void wait() const;

  [[nodiscard]] const std::vector<at::Tensor>& host() const noexcept { return host_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] at::Device device() const noexcept { return lane_ ? lane_->device() : at::kCPU; }
  // After the first `take`, on a GPU.
  [[nodiscard]] bool sets_aside() const noexcept { return !aside_.empty(); }

 private:
  void find_room();
  void copy_to_host(const std::vector<at::Tensor>& from);

  std::vector<at::Tensor> sources_;
  std::vector<at::Tensor> aside_;  // on the device; empty: no room
  std::vector<at::Tensor> host_;
  double free_share_;
  std::int64_t bytes_ = 0;
  bool looked_for_room_ = false;
  std::optional<Lane> lane_;  // none: nothing to copy
  Mark copied_;
};

}  // namespace wam
