#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// One more at `counter`, host memory that the device can write.
void launch_count(std::uint64_t* counter, KernelStream stream);

}  // namespace wam
