#pragma once

#include "core/train/collectives.h"

namespace wam {

// An axis whose other ranks are not there, so that nothing moves: a gather copies this rank's own
// piece where it is not in place already, and a sum is this rank's own part.
//
// With one rank on the axis that is all there is to do. With several, what would come from others
// stays as it is: to measure what one of them computes, never to train.
class AbsentRanks final : public Collectives {
 public:
  explicit AbsentRanks(int axis_size = 1, int axis_rank = 0) : size_(axis_size), rank_(axis_rank) {}

  [[nodiscard]] int axis_size() const override { return size_; }
  [[nodiscard]] int axis_rank() const override { return rank_; }
  void all_reduce_sum(at::Tensor& values, const std::string& what) override;
  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override;
  void reduce_scatter_sum(at::Tensor& piece, at::Tensor& full, const std::string& what) override;

 private:
  int size_;
  int rank_;
};

}  // namespace wam
