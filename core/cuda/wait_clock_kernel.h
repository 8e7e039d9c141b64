#pragma once

#include <cstdint>

#include "core/cuda/kernel.h"

namespace wam {

// `begun` = the device's clock, in ns.
void launch_begin_wait(std::int64_t* begun, KernelStream stream);
// Adds to `sum` the seconds since `begun`.
void launch_end_wait(const std::int64_t* begun, double* sum, KernelStream stream);

}  // namespace wam
