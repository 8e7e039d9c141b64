#pragma once

#include "core/train/collectives.h"

namespace wam {

// An axis of one rank: sums are what they are, and a gather is a copy where it is not in place.
class LoneRank final : public Collectives {
 public:
  [[nodiscard]] int axis_size() const override { return 1; }
  [[nodiscard]] int axis_rank() const override { return 0; }
  void all_reduce_sum(at::Tensor& values, const std::string& what) override;
  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override;
  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override;
};

}  // namespace wam
