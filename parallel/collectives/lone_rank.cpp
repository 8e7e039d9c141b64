#include "parallel/collectives/lone_rank.h"

namespace wam {

void LoneRank::all_reduce_sum(at::Tensor& /*values*/, const std::string& /*what*/) {}

void LoneRank::all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& /*what*/) {
  if (full.data_ptr() != piece.data_ptr()) full.copy_(piece);
}

void LoneRank::reduce_scatter_sum(at::Tensor& piece,
                                  at::Tensor& full,
                                  const std::string& /*what*/) {
  if (full.data_ptr() != piece.data_ptr()) piece.copy_(full);
}

}  // namespace wam
