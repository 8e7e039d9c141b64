#include "parallel/estimate/links.h"

#include "test/support/catch.h"

using wam::collective_s;
using wam::CollectiveKind;
using wam::LinkRates;

namespace {

const LinkRates kRates{.all_gather_gb_s = 250,
                       .reduce_scatter_gb_s = 200,
                       .all_reduce_gb_s = 200,
                       .node_gb_s = 50,
                       .hop_s = 1e-6,
                       .node_hop_s = 10e-6};

}  // namespace

TEST_CASE("links: rings inside a node") {
  // Three quarters of 1 GB at 250 GB/s; three hops.
  CHECK(collective_s(CollectiveKind::kAllGather, 1e9, {.ranks = 4}, kRates) == Approx(3e-3 + 3e-6));
  CHECK(collective_s(CollectiveKind::kAllReduce, 1e9, {.ranks = 4}, kRates) ==
        Approx(7.5e-3 + 6e-6));
  CHECK(collective_s(CollectiveKind::kAllReduce, 1e9, {.ranks = 1}, kRates) == 0);
}

TEST_CASE("links: between nodes a group has its GPUs' network cards together, up to NVLink") {
  const auto reduce_s = [](std::int64_t ranks, std::int64_t nodes) {
    return collective_s(CollectiveKind::kReduceScatter, 1e9, {ranks, nodes}, kRates);
  };

  CHECK(reduce_s(2, 2) == Approx(0.5 / 50 + 10e-6));          // one card a node
  CHECK(reduce_s(4, 2) == Approx(0.75 / 100 + 12e-6));        // two
  CHECK(reduce_s(16, 2) == Approx(15.0 / 16 / 200 + 24e-6));  // eight would be 400: NVLink is 200
}
