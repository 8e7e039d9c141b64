#pragma once

#include <memory>
#include <vector>

#include "core/cuda/graph.h"
#include "models/wam/step.h"

namespace wam {

// training_step as one CUDA graph for each shape of its inputs (blocks, text rows, samples) and
// kind of micro-step (Sharding::micro_step_kind): inputs are copied into the graph's own tensors,
// and the graph is replayed. Gives the same bits as training_step.
//
// `dit` and `schedule` must outlive it. A sharding that was passed once is known by its address: it
// and its buffers stay where they are for as long as steps run.
class StepGraphs {
 public:
  // More shapes than this would fill the memory with recordings: an error says so.
  // 4 numbers of blocks x 4 text lengths, and as many again for a last, smaller micro-batch.
  static constexpr std::size_t kMaxGraphs = 32;

  // `observer` may be null.
  StepGraphs(Dit& dit,
             const FlowSchedule& schedule,
             at::Device device,
             GraphObserver* observer = nullptr);
  ~StepGraphs();
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;
  StepGraphs(StepGraphs&&) = delete;
  StepGraphs& operator=(StepGraphs&&) = delete;

  // Records the graph when the shape is new. The results are overwritten by the next run.
  Losses run(const EncodedBatch& batch, const Draws& draws, Sharding& sharding, double weight);
  // Records the graph when the shape is new, and else replays it as often as a recording runs the
  // step (DeviceGraph::kWarmUps), so that ranks with different shapes make the same collectives.
  // Gradients are added to with a weight of zero. After `end_rehearsal` a new shape is an error.
  void rehearse(const EncodedBatch& batch, const Draws& draws, Sharding& sharding);
  void end_rehearsal() { complete_ = true; }

 private:
  struct Entry;
  Entry* find(const EncodedBatch& batch, const Draws& draws, Sharding& sharding);
  Entry& record(const EncodedBatch& batch, const Draws& draws, Sharding& sharding);

  Dit& dit_;
  const FlowSchedule& schedule_;
  GraphPool pool_;
  bool complete_ = false;
  std::vector<std::unique_ptr<Entry>> entries_;  // gone before the pool
};

}  // namespace wam
