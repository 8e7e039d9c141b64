#include "parallel/estimate/memory.h"

#include "test/support/catch.h"

using wam::memory_of;
using wam::Spread;
using wam::UnitLoad;

namespace {

// 100 parameters held throughout, blocks of 800, 1000 and 800, 60 held, 40 frozen: P = 2760.
std::vector<UnitLoad> units() {
  return {{.trainable_numel = 100, .frozen_numel = 40, .held_throughout = true},
          {.trainable_numel = 800},
          {.trainable_numel = 1000},
          {.trainable_numel = 800},
          {.trainable_numel = 60, .held_throughout = true}};
}

}  // namespace

TEST_CASE("memory: one GPU, and replicas, hold 2 + 4 + 12 bytes a parameter") {
  for (const std::int64_t gpus : {1, 4}) {
    const auto m = memory_of(units(), {.gpus = gpus});
    CHECK(m.weights == 2 * (2760 + 40));
    CHECK(m.gradients == 4 * 2760);
    CHECK(m.optimizer == 12 * 2760);
    CHECK(m.host == 0);
  }
}

TEST_CASE("memory: sharded state, then gradients, then weights") {
  Spread spread{.gpus = 4, .shard_size = 4};
  auto m = memory_of(units(), spread);
  CHECK(m.weights == 2 * 2800);
  CHECK(m.gradients == 4 * 2760);
  CHECK(m.optimizer == 12 * 690);

  spread.reduces_each = true;  // a shard, two slots of 1000, the held 160
  m = memory_of(units(), spread);
  CHECK(m.gradients == 4 * (690 + 2000 + 160));

  spread.shards_weights = true;
  m = memory_of(units(), spread);
  CHECK(m.weights == 2 * (650 + 2000 + 160 + 40));
  CHECK(m.optimizer == 12 * 690);
}

TEST_CASE("memory: a hybrid's shard is that of its group") {
  const auto m =
      memory_of(units(), {.gpus = 8, .nodes = 2, .shard_size = 4, .shards_weights = true});

  CHECK(m.optimizer == 12 * 690);
  CHECK(m.weights == 2 * (650 + 2000 + 160 + 40));
}

TEST_CASE("memory: the state of a node's GPUs in host memory, one bf16 slot more") {
  const auto m = memory_of(
      units(), {.gpus = 8, .nodes = 2, .shard_size = 4, .state_on_host = true, .reduce_bytes = 2});

  CHECK(m.optimizer == 0);
  CHECK(m.host == 4 * 12 * 690);
  CHECK(m.gradients == 4 * 2760 + 2 * 1000);
}

TEST_CASE("memory: the blocks' weights in host memory leave two slots and a shard on its way") {
  Spread spread{.gpus = 4, .state_on_host = true, .weights_on_host = true};
  auto m = memory_of(units(), spread);
  CHECK(m.weights == 2 * (2000 + 160 + 40));
  CHECK(m.host == 4 * (12 * 2760 + 2 * 2600));

  spread.shard_size = 4;
  spread.shards_weights = true;
  m = memory_of(units(), spread);
  CHECK(m.weights == 2 * (2000 + 250 + 160 + 40));
  CHECK(m.host == 4 * (12 * 690 + 2 * 650));
}
