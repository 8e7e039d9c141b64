#pragma once

#include <cstdint>
#include <vector>

#include "core/train/dataset.h"
#include "core/train/sharding.h"
#include "data/loader/order.h"
#include "models/wam/wam_model.h"

namespace wam {

// Lets the model record, on all ranks at the same time, every form of micro-step that can come: the
// sizes of the plan's micro-batches, the blocks of the windows, the lengths of the prompts' texts,
// with a reduction of gradients or without. While a rank records it runs the step's collectives,
// which the others must run too. `shapes` are windows of every number of blocks. All ranks call it
// together, before the first step.
void rehearse_steps(WamModel& model,
                    Sharding& sharding,
                    const Dataset& data,
                    const std::vector<std::uint64_t>& shapes,
                    const TextEmbeddings& text,
                    const BatchPlan& plan);

}  // namespace wam
