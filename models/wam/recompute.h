#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/names.h"

namespace wam {

// What a block keeps for its backward beside its input (D5); the tensors of each stand in the table
// of block_saved.cpp.
//   none       everything that backward reads
//   norms      results of matrix products and of attention
//   attention  results of attention, residual sums, and what the gates multiply
//   full       nothing: backward runs the forward again
enum class RecomputePolicy { kNone, kNorms, kAttention, kFull };

template <>
struct EnumNames<RecomputePolicy> {
  static constexpr std::array table{
      std::pair{RecomputePolicy::kNone, std::string_view("none")},
      std::pair{RecomputePolicy::kNorms, std::string_view("norms")},
      std::pair{RecomputePolicy::kAttention, std::string_view("attention")},
      std::pair{RecomputePolicy::kFull, std::string_view("full")}};
};

// One policy for the first blocks, another for the rest: a model that almost fits keeps most of its
// speed.
struct RecomputePlan {
  RecomputePolicy policy = RecomputePolicy::kNone;
  std::int64_t first_blocks = 0;
  RecomputePolicy first_policy = RecomputePolicy::kFull;

  [[nodiscard]] RecomputePolicy of_block(std::int64_t block_idx) const noexcept {
    return block_idx < first_blocks ? first_policy : policy;
  }
  // "norms (first 4 blocks full)".
  [[nodiscard]] std::string text() const {
    std::string out(name_of(policy));
    if (first_blocks == 0) return out;
    return out + " (first " + std::to_string(first_blocks) + " blocks " +
           std::string(name_of(first_policy)) + ")";
  }
};

}  // namespace wam
