#include "parallel/estimate/spread.h"

#include "test/support/catch.h"

using wam::problems_of;
using wam::Spread;

TEST_CASE("spread: groups of neighbours share a copy, the others hold the same shard") {
  const Spread full{.gpus = 16, .nodes = 2, .shard_size = 16};
  CHECK(full.shard_group().ranks == 16);
  CHECK(full.shard_group().nodes == 2);
  CHECK(full.shard_group().ranks_of_a_node() == 8);
  CHECK(full.replica_group().ranks == 1);

  const Spread hybrid{.gpus = 16, .nodes = 2, .shard_size = 8};
  CHECK(hybrid.shard_group().nodes == 1);
  CHECK(hybrid.replica_group().ranks == 2);
  CHECK(hybrid.replica_group().nodes == 2);

  const Spread small_groups{.gpus = 16, .nodes = 2, .shard_size = 2};
  CHECK(small_groups.replica_group().ranks == 8);
  CHECK(small_groups.replica_group().nodes == 2);
  CHECK(small_groups.replica_group().ranks_of_a_node() == 4);

  const Spread over_nodes{.gpus = 32, .nodes = 4, .shard_size = 16};
  CHECK(over_nodes.shard_group().nodes == 2);
  CHECK(over_nodes.replica_group().nodes == 2);
}

TEST_CASE("spread: what is contradictory is said with a way out") {
  const auto problem = [](const Spread& spread) {
    const auto problems = problems_of(spread);
    REQUIRE(problems.size() == 1);
    return problems.front();
  };

  CHECK_THAT(problem({.gpus = 0}), Catch::Contains("Fix: give positive numbers"));
  CHECK_THAT(problem({.gpus = 12, .nodes = 5}), Catch::Contains("15 GPUs, or 4 nodes"));
  CHECK_THAT(problem({.gpus = 8, .shard_size = 3}), Catch::Contains("divides 8, such as 2"));
  CHECK_THAT(problem({.gpus = 24, .nodes = 2, .shard_size = 8}),
             Catch::Contains("groups of 8 GPUs do not fill nodes of 12"));
  CHECK(problems_of({.gpus = 24, .nodes = 2, .shard_size = 4}).empty());
}
