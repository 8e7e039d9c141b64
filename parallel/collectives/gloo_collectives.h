#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "core/train/collectives.h"
#include "parallel/collectives/axis.h"

namespace c10d {
class Store;
}

namespace wam {

struct GlooOptions {
  std::chrono::milliseconds time_limit;  // of one collective
  // The address of this host, or the name of its network interface, over which the group talks.
  // Empty: the address that the host's own name stands for.
  std::string address;
  std::string interface;
};

// Collectives between CPUs, over TCP (Gloo, as LibTorch has it). Returns when all ranks of the axis
// are connected. `store` must outlive it. Errors: CommError.
std::unique_ptr<Collectives> make_gloo_collectives(const Axis& axis,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   const GlooOptions& options);

}  // namespace wam
