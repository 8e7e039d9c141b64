#pragma once

#include <string>
#include <vector>

#include "core/cuda/lane.h"
#include "core/train/unit.h"
#include "test/support/thread_ranks.h"

namespace wam::test {

// Embeddings and a head that are held throughout, around blocks of different sizes.
std::vector<UnitSpec> rank_specs(int blocks);

// The whole trainable weights of a unit: another value in every element of every unit.
at::Tensor whole_weights(const UnitSpec& spec, std::size_t unit_idx, int shards);

}  // namespace wam::test
