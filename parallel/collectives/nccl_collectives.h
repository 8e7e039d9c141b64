#pragma once

#include <memory>

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include "core/train/collectives.h"
#include "parallel/collectives/axis.h"

namespace c10d {
class Store;
}

namespace wam {

// Collectives between GPUs (NCCL, called directly: its work may be recorded in CUDA graphs).
// Returns when all ranks of the axis are connected and have exchanged one value in each kind of
// collective, so that a recording finds everything set up. Every graph that recorded its work is
// destroyed before it. Errors: CommError.
std::unique_ptr<Collectives> make_nccl_collectives(const Axis& axis,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   c10::Device device);

}  // namespace wam
