#pragma once

#include <cstdint>

#include "core/ops/adamw/adamw_arguments.h"

namespace wam {

// adamw_update_host over the elements [begin, end), multiples of 64, on the caller's thread, by
// instruction set.
using AdamWRange = void(const AdamWUpdateArguments& arguments,
                        std::int64_t begin,
                        std::int64_t end);
AdamWRange adamw_range_scalar;
// In a build for x86-64 only; the processor must have the instructions.
AdamWRange adamw_range_avx2;
AdamWRange adamw_range_avx512;

}  // namespace wam
