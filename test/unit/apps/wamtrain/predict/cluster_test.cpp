#include "apps/wamtrain/predict/cluster.h"

#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::cluster_of;

TEST_CASE("cluster: without --gpus there is none, and nothing that describes it") {
  CHECK_FALSE(cluster_of({}).has_value());
  CHECK_THROWS_WITH(cluster_of({.nodes = 2}), Contains("--gpus, which is not there"));
  CHECK_THROWS_WITH(cluster_of({.rates = "a.yaml"}), Contains("Fix: give --gpus"));
}

TEST_CASE("cluster: one node unless said") {
  const auto cluster = cluster_of({.gpus = 8});
  REQUIRE(cluster.has_value());
  CHECK(cluster->gpus == 8);
  CHECK(cluster->nodes == 1);
}

TEST_CASE("cluster: contradictions are errors with a fix") {
  CHECK_THROWS_WITH(cluster_of({.gpus = 0}), Contains("expected at least 1"));
  CHECK_THROWS_WITH(cluster_of({.gpus = 5'000'000'000}), Contains("at most 1000000"));
  CHECK_THROWS_WITH(cluster_of({.gpus = 12, .nodes = 5, .link_gb_s = 50}),
                    Contains("12 GPUs do not lie evenly on 5 nodes. Fix: "));
  CHECK_THROWS_WITH(cluster_of({.gpus = 16, .nodes = 2}), Contains("Fix: give --link"));
  CHECK_THROWS_WITH(cluster_of({.gpus = 8, .link_gb_s = 50}), Contains("there is one node"));
  CHECK_THROWS_WITH(cluster_of({.gpus = 16, .nodes = 2, .link_gb_s = -1}),
                    Contains("expected a rate above 0"));
}
