#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/worker_pool.h"
#include "core/cuda/lane.h"
#include "core/ops/adamw/adamw.h"

namespace wam {

struct OffloadOptions {
  at::Device device = at::kCPU;              // of gradients and compute copies
  at::ScalarType compute_type = at::kFloat;  // of the copies
  // Of a buffer of the ring, a multiple of 512: 32 MiB of an fp32 gradient.
  std::int64_t piece_elements = 8 * 1024 * 1024;
};

// adamw_update for shards whose state lies in host memory while gradients and compute copies are on
// a device. Gradients come piece by piece through a ring of page-locked buffers, the host updates
// its state and rounds the copy, and that goes back: both ways on streams of their own, while the
// host computes. Beside a GPU, a copy that lies in host memory is written there. On a CPU the same
// happens with ordinary copies.
//
// The bits are those of adamw_update on the device (core/ops/adamw/adamw_host.h).
// Threads: one, with the workers.
class OffloadedUpdate {
 public:
  // `shards` outlive it; their state arrays and decay bits are in host memory and stay where they
  // are. Allocates the ring.
  OffloadedUpdate(std::vector<const AdamWShard*> shards,
                  const OffloadOptions& options,
                  WorkerPool& workers);
  ~OffloadedUpdate();  // waits for copies out of the ring
  OffloadedUpdate(const OffloadedUpdate&) = delete;
  OffloadedUpdate& operator=(const OffloadedUpdate&) = delete;
  OffloadedUpdate(OffloadedUpdate&&) = delete;
  OffloadedUpdate& operator=(OffloadedUpdate&&) = delete;

  // `control` is the decision on the device, `gradient` of the shards is there too, and `compute`
  // there or in host memory.
  // The host waits for the decision and works until the last piece is updated. What the current
  // stream is told after it happens after the copies are back. A skipped update leaves everything.
  void run(const AdamWControl& control, const AdamWOptions& options);

 private:
  // A buffer of the ring.
  struct Slot {
    at::Tensor gradient, compute;
    Mark downloaded, uploaded;
  };
  // A stretch of a shard, in the buffers of its slot.
  struct Piece {
    std::size_t shard_idx;
    std::size_t slot_idx;
    std::int64_t begin, numel;
    AdamWShard on_host;
  };
  void add_pieces(std::size_t shard_idx);
  void download(const Piece& piece);
  void upload(const Piece& piece);
  void update(const Piece& piece, const AdamWOptions& options);

  std::vector<const AdamWShard*> shards_;
  OffloadOptions options_;
  WorkerPool& workers_;
  AdamWControl control_;  // of this update, on the host
  std::vector<Slot> slots_;
  std::vector<Piece> pieces_;
  Lane downloads_, uploads_;
};

}  // namespace wam
