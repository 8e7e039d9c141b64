#include "parallel/estimate/traffic.h"

#include "test/support/catch.h"

using wam::Spread;
using wam::traffic_of;
using wam::UnitLoad;

namespace {

// Held 200, four blocks of 1000, held 100: P = 4300.
std::vector<UnitLoad> units() {
  std::vector<UnitLoad> out{{.trainable_numel = 200, .held_throughout = true}};
  for (int i = 0; i < 4; ++i) out.push_back({.trainable_numel = 1000});
  out.push_back({.trainable_numel = 100, .held_throughout = true});
  return out;
}

}  // namespace

TEST_CASE("traffic: one GPU sends nothing") {
  CHECK(traffic_of(units(), {}, 4).total() == 0);
  CHECK(traffic_of(units(), {.shards_weights = true, .reduces_each = true}, 4).total() == 0);
}

TEST_CASE("traffic: replicas send each gradient twice, in rings, once a step") {
  const auto t = traffic_of(units(), {.gpus = 4}, 3);

  CHECK(t.replicas == Approx(2 * 0.75 * 4 * 4300));
  CHECK(t.total() == t.replicas);
}

TEST_CASE("traffic: sharded gradients once a step or each micro-step, weights after the update") {
  Spread spread{.gpus = 4, .shard_size = 4};
  auto t = traffic_of(units(), spread, 3);
  CHECK(t.gather == Approx(0.75 * 2 * 4300));
  CHECK(t.reduce == Approx(0.75 * 4 * 4300));

  spread.reduces_each = true;
  CHECK(traffic_of(units(), spread, 3).reduce == Approx(3 * t.reduce));

  spread.reduce_bytes = 2;
  CHECK(traffic_of(units(), spread, 3).reduce == Approx(1.5 * t.reduce));
}

TEST_CASE("traffic: sharded weights travel for each pass, the last two blocks once") {
  const auto t = traffic_of(units(), {.gpus = 4, .shard_size = 4, .shards_weights = true}, 3);

  CHECK(t.gather == Approx(0.75 * 2 * (3 * (2 * 2000 + 2000) + 300)));
  CHECK(t.reduce == Approx(0.75 * 4 * 4300));
}

TEST_CASE("traffic: weights in host memory are uploaded for each pass, and sent as before") {
  Spread spread{.state_on_host = true, .weights_on_host = true};
  auto t = traffic_of(units(), spread, 3);
  CHECK(t.uploads == Approx(2 * 3 * (2 * 2000 + 2000)));
  CHECK(t.total() == 0);

  spread.gpus = spread.shard_size = 4;
  spread.shards_weights = true;
  t = traffic_of(units(), spread, 3);
  CHECK(t.uploads == Approx(2 * 3 * (2 * 2000 + 2000) / 4.0));
  CHECK(t.gather == Approx(0.75 * 2 * (3 * (2 * 2000 + 2000) + 300)));
}

TEST_CASE("traffic: a hybrid's shards meet their twins of other groups") {
  const auto t =
      traffic_of(units(), {.gpus = 8, .nodes = 2, .shard_size = 4, .shards_weights = true}, 1);

  CHECK(t.reduce == Approx(0.75 * 4 * 4300));
  CHECK(t.replicas == Approx(2 * 0.5 * 4 * 4300 / 4));
}
