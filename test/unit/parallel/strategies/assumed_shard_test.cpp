#include "parallel/strategies/assumed_shard.h"

#include <vector>

#include "core/base/errors.h"
#include "core/train/optimizer.h"
#include "test/support/catch.h"

using wam::AssumedShard;
using wam::make_unit;
using wam::Pass;
using wam::Unit;

namespace {

// Embeddings, two blocks of which the second is shorter, a head; one tensor frozen.
std::vector<wam::UnitSpec> make_specs() {
  std::vector<wam::UnitSpec> specs{
      make_unit("embeddings", {{.name = "e", .shape = {100}}}),
      make_unit("blocks.0", {{.name = "w0", .shape = {20, 20}},
                             {.name = "f0", .shape = {70}, .trainable = false}}),
      make_unit("blocks.1", {{.name = "w1", .shape = {10, 10}}}),
      make_unit("head", {{.name = "h", .shape = {64}}})};
  specs.front().held_throughout = true;
  specs.back().held_throughout = true;
  return specs;
}

AssumedShard make(int world) {
  return {make_specs(), {.world = world}};
}

}  // namespace

TEST_CASE("AssumedShard: blocks share their buffers, embeddings and head keep theirs") {
  AssumedShard sharding = make(4);
  auto& units = sharding.units();

  units[1].compute().fill_(3);
  CHECK(units[2].weight(0).min().item<float>() == 3);
  CHECK(units[0].weight(0).max().item<float>() == 0);
  units[1].gradient().fill_(5);
  CHECK(units[2].weight_gradient(0).min().item<float>() == 5);
  units[0].gradient().fill_(1);
  units[3].gradient().fill_(2);
  CHECK(units[0].weight_gradient(0).max().item<float>() == 1);

  sharding.begin_step();

  for (Unit& unit : units) CHECK(unit.gradient().abs().max().item<float>() == 0);
}

TEST_CASE("AssumedShard: of the state it holds one of `world` parts") {
  AssumedShard sharding = make(4);

  // 448 trainable elements of the first block: pieces of 128, rounded up to whole alignments.
  Unit& block = sharding.units()[1];
  CHECK(block.spec().trainable_numel == 448);
  CHECK(block.state("master").numel() == 128);
  CHECK(sharding.shard_gradient(1).numel() == 128);
  CHECK(sharding.shard_compute(1).numel() == 128);
  CHECK(sharding.shard_gradient(1).const_data_ptr() == block.gradient().const_data_ptr());
}

TEST_CASE("AssumedShard: one unit at a time is in the slot") {
  AssumedShard sharding = make(2);

  sharding.acquire(0, Pass::kForward);
  CHECK(&sharding.acquire(1, Pass::kForward) == &sharding.units()[1]);
  CHECK_THROWS_AS(sharding.acquire(2, Pass::kForward), wam::InvariantError);
  CHECK_THROWS_AS(sharding.release(2, Pass::kForward), wam::InvariantError);
  sharding.release(1, Pass::kForward);
  CHECK_NOTHROW(sharding.acquire(2, Pass::kForward));
  CHECK_NOTHROW(sharding.acquire(3, Pass::kForward));
}

TEST_CASE("AssumedShard: the optimizer updates the shard and writes it into the slot") {
  AssumedShard sharding = make(2);
  for (Unit& unit : sharding.units()) {
    unit.state("master").fill_(1);
    unit.gradient().fill_(1);
  }
  wam::AdamW optimizer(sharding, wam::AdamWOptions{});

  const auto result = optimizer.step(0.25);

  CHECK(result.skipped.item<double>() == 0);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    Unit& unit = sharding.units()[i];
    const float master = unit.state("master")[0].item<float>();
    CHECK(master < 1);
    CHECK(unit.weight(0).flatten()[0].item<float>() == Approx(master));
  }
}
