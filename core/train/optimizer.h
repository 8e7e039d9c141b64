#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/base/worker_pool.h"
#include "core/cuda/graph.h"
#include "core/ops/adamw/adamw.h"
#include "core/ops/square_sum/square_sum.h"
#include "core/train/offloaded_update.h"
#include "core/train/sharding.h"

namespace wam {

// AdamW over the flat shards of all units (core/ops/adamw), with global-norm clipping and a skip of
// non-finite updates that is decided on the device.
//
// A skipped update leaves weights, moments and the count of applied updates as they were.
//
// Where the units' state lies in host memory (UnitPlacement::state_on_host), so does the update
// itself, with the same bits (offloaded_update.h); norm and decision stay on the device.
class AdamW {
 public:
  // With `replays`, on a GPU: `step` records the update once as a CUDA graph and replays it, which
  // gives the same bits. The sharding's buffers then stay where they are. Not for state on the
  // host. `observer` may be null.
  AdamW(Sharding& sharding,
        const AdamWOptions& options,
        bool replays = false,
        GraphObserver* observer = nullptr);

  // The rate of the next updates, in device memory: a call enqueues one write. A rate that is not
  // finite makes updates that change nothing, so that a graph of `update` can be recorded.
  void set_learning_rate(double rate);

  // Applies the gradients that `sharding` holds after the last micro-step, and shares weights.
  // On a GPU with fp32 state it only enqueues kernels, always the same ones; with state on the host
  // it waits for the gradients, and returns when the state is updated. The tensors of the result
  // are the optimizer's own: the next update overwrites them.
  UpdateResult update();

  // Both.
  UpdateResult step(double learning_rate);

  // Updates applied so far (Adam's own count, behind the step number by the skipped ones).
  // Reads the device.
  [[nodiscard]] std::int64_t applied_updates() const;
  void set_applied_updates(std::int64_t count);

 private:
  // One unit's shard; its gradient and compute copy are looked up at each update.
  struct Part {
    SegmentTable table;      // all trainable tensors of the unit, those outside the shard empty
    at::Tensor square_sums;  // their part of the result
    AdamWShard shard;
  };
  void add_unit(Unit& unit);
  void apply();  // the decision, to every shard
  void place_update(const UnitPlacement& placement);

  Sharding& sharding_;
  AdamWOptions options_;
  AdamWControl control_;
  std::vector<Part> parts_;  // one a unit
  at::Tensor first_tensor_;  // (num_units + 1): where each unit's tensors begin in the result
  UpdateResult result_;
  std::optional<WorkerPool> workers_;       // where the state is on the host
  std::optional<OffloadedUpdate> offload_;  // where nothing else is
  std::optional<GraphPool> pool_;           // none: every kernel is launched
  std::optional<DeviceGraph> graph_;        // recorded by the first step
};

// For a step that was skipped: which unit and tensor was not finite first, in words. Looks at the
// masters (in the order of the forward; reads the device), then at the squared norms of the
// gradients (in the order of the backward). `tensor_square_sums`: those of the step, on the host.
std::string name_nonfinite(Sharding& sharding, const at::Tensor& tensor_square_sums);

}  // namespace wam
