#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/cuda/lane.h"
#include "core/train/collectives.h"
#include "core/train/sharding.h"
#include "parallel/strategies/wait_times.h"

namespace wam {

enum class PiecesLieIn { kDeviceMemory, kHostMemory };

// Weights of blocks that are sharded: this rank's piece of each stays, on the device or in host
// memory, and a block is whole in one of two slots while it is needed. The next block of the pass
// is gathered in the lane while the current one computes; a slot is written again when the block
// that was in it has been given back. Where the backward follows the forward, its last two blocks
// are still there.
class WeightSlots {
 public:
  // `units` are all of them; those that are held throughout are not this object's. All references
  // must outlive it.
  WeightSlots(std::vector<Unit>& units,
              Collectives& shards,
              Lane& lane,
              WaitTimes& waits,
              PiecesLieIn memory);

  // A pass begins: what is in the slots may be out of date.
  void begin_pass();
  void acquire(std::size_t unit_idx, Pass pass);
  void release(std::size_t unit_idx);
  // (piece) compute type: what this rank holds of the unit. What lies in host memory is read behind
  // the host's back from begin_pass until the device has passed the end of the pass.
  [[nodiscard]] at::Tensor& piece(std::size_t unit_idx) { return pieces_.at(unit_idx); }

 private:
  struct Slot {
    at::Tensor buffer;
    std::optional<std::size_t> unit;
    int users = 0;
    Mark gathered;  // in the lane
    Mark given_back;
  };

  Slot* slot_of(std::size_t unit_idx);
  Slot& gather(std::size_t unit_idx);
  void fill(at::Tensor& whole, std::size_t unit_idx);
  void allocate_pieces(PiecesLieIn memory);
  [[nodiscard]] std::optional<std::size_t> next(std::size_t unit_idx, Pass pass) const;

  std::vector<Unit>& units_;
  Collectives& shards_;
  Lane& lane_;
  WaitTimes& waits_;
  std::vector<at::Tensor> pieces_;   // of one buffer; undefined for units held throughout
  at::Tensor uploaded_;              // a piece from host memory that the others gather
  std::vector<std::string> titles_;  // for messages, one a unit
  std::array<Slot, 2> slots_;
};

}  // namespace wam
