#pragma once

#include "core/base/instruction_set.h"
#include "core/base/worker_pool.h"
#include "core/ops/adamw/adamw_arguments.h"

namespace wam {

// adamw_update over host memory: vector code over the cores of the machine. It computes what
// adamw_kernel.cu does, operation by operation, each rounded once (a fused product and sum too), so
// that the bits are the kernel's, on every instruction set and for any number of threads.

// Arrays are aligned as their elements. No elements: a no-op.
// Bytes: those of adamw_update.
void adamw_update_host(const AdamWUpdateArguments& arguments,
                       WorkerPool& workers,
                       InstructionSet set = best_instruction_set());

}  // namespace wam
