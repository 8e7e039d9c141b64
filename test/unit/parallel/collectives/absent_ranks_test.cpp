#include "parallel/collectives/absent_ranks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include "core/base/errors.h"
#include "parallel/mesh/mesh.h"
#include "test/support/catch.h"

namespace wam {
namespace {

at::Tensor numbers(std::initializer_list<double> values) {
  return at::tensor(at::ArrayRef<double>(values));
}

}  // namespace

TEST_CASE("Absent ranks: a gather copies the own piece and nothing else") {
  AbsentRanks axis(3, 1);
  at::Tensor full = at::full({6}, 7.0, at::kDouble);
  const at::Tensor piece = numbers({1, 2});

  axis.all_gather(full, piece, "w");

  CHECK(at::equal(full, numbers({7, 7, 1, 2, 7, 7})));
  axis.all_gather(full, full.narrow(0, 2, 2), "w");  // in place
  CHECK(at::equal(full, numbers({7, 7, 1, 2, 7, 7})));
  CHECK_THROWS_AS(axis.all_gather(full, numbers({1}), "w"), InvariantError);
}

TEST_CASE("Absent ranks: sums are the own part") {
  AbsentRanks axis(2, 1);
  at::Tensor full = at::arange(4, at::kDouble);
  at::Tensor piece = numbers({9, 9});

  axis.reduce_scatter_sum(piece, full, "g");
  CHECK(at::equal(piece, numbers({2, 3})));
  at::Tensor own = full.narrow(0, 2, 2);
  axis.reduce_scatter_sum(own, full, "g");
  axis.all_reduce_sum(full, "g");
  CHECK(at::equal(full, at::arange(4, at::kDouble)));
}

TEST_CASE("Absent ranks: an axis of one rank has all there is") {
  AbsentRanks alone;
  CHECK(alone.axis_size() == 1);
  at::Tensor full = numbers({0, 0});
  at::Tensor piece = numbers({1, 2});
  alone.all_gather(full, piece, "w");
  CHECK(at::equal(full, piece));
}

TEST_CASE("Absent mesh: the groups that a rank of the layout is in") {
  const auto place = [](const std::shared_ptr<Collectives>& axis) {
    return std::pair{axis->axis_size(), axis->axis_rank()};
  };
  const MeshAxes hybrid =
      absent_mesh({.world = 6, .shard_ranks = 2, .shards_weights = true}, /*rank=*/3);
  CHECK(place(hybrid.world) == std::pair{6, 3});
  CHECK(place(hybrid.shards) == std::pair{2, 1});
  CHECK(place(hybrid.replicas) == std::pair{3, 1});
  const MeshAxes full = absent_mesh({.world = 4, .shard_ranks = 4}, 2);
  CHECK(full.shards == full.world);
  CHECK(full.replicas == nullptr);
  CHECK(absent_mesh({}, 0).world == nullptr);
}

}  // namespace wam
