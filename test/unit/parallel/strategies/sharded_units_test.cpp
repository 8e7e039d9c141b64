#include "parallel/strategies/sharded_units.h"

#include <ATen/ops/equal.h>

#include "test/support/catch.h"
#include "test/unit/parallel/strategies/rank_units.h"

using wam::Pass;
using wam::ReduceTime;
using wam::ShardedUnits;
using wam::Unit;
using wam::test::rank_specs;
using wam::test::run_ranks;
using wam::test::ThreadAxis;
using wam::test::whole_weights;
using Lines = std::vector<std::string>;

namespace {

constexpr int kBlocks = 3;

enum class Axes { kShards, kReplicas };

// Two ranks along one axis, each with masters of whole_weights; `work` returns whether all is
// right.
template <class Work>
Lines on_two_ranks(Axes which, ShardedUnits::Options options, const Work& work) {
  ThreadAxis axis(2);
  std::vector<Lines> calls(2);
  std::vector<char> right(2);
  run_ranks(2, [&](int number) {
    const auto at = static_cast<std::size_t>(number);
    ShardedUnits::Options own = options;
    own.axes.world = axis.connect(number, calls[at]);
    (which == Axes::kShards ? own.axes.shards : own.axes.replicas) = own.axes.world;
    ShardedUnits sharding(rank_specs(kBlocks), own);
    for (std::size_t i = 0; i < sharding.units().size(); ++i) {
      Unit& unit = sharding.units()[i];
      unit.state("master").copy_(
          whole_weights(unit.spec(), i, 2).narrow(0, unit.shard().begin, unit.shard().numel()));
    }
    right[at] = work(sharding) ? 1 : 0;
  });
  CHECK(right == std::vector<char>{1, 1});
  CHECK(calls[0] == calls[1]);
  return calls[0];
}

bool holds_whole_weights(const Unit& unit, std::size_t unit_idx, at::Tensor compute) {
  const std::int64_t numel = unit.spec().trainable_numel;
  return compute.numel() >= numel &&
         at::equal(compute.narrow(0, 0, numel),
                   whole_weights(unit.spec(), unit_idx, 2).narrow(0, 0, numel));
}

Lines gathers(const std::vector<std::string>& units) {
  Lines out;
  for (const auto& unit : units) out.push_back("all_gather the weights of " + unit);
  return out;
}

}  // namespace

TEST_CASE("ShardedUnits: weights that are whole on every rank are shared after a change") {
  const Lines calls = on_two_ranks(Axes::kShards, {}, [](ShardedUnits& sharding) {
    sharding.publish_weights();
    for (std::size_t i = 0; i < sharding.units().size(); ++i) {
      Unit& unit = sharding.units()[i];
      if (!holds_whole_weights(unit, i, unit.compute())) return false;
    }
    return true;
  });

  CHECK(calls == gathers({"embeddings", "blocks.0", "blocks.1", "blocks.2", "head"}));
}

TEST_CASE(
    "ShardedUnits: sharded blocks are not shared after a change, the next pass gathers them") {
  const Lines calls =
      on_two_ranks(Axes::kShards, {.shards_weights = true}, [](ShardedUnits& sharding) {
        sharding.publish_weights();
        for (const std::size_t i : {std::size_t{0}, std::size_t{kBlocks + 1}}) {
          Unit& unit = sharding.units()[i];
          if (!holds_whole_weights(unit, i, unit.compute())) return false;
        }
        sharding.begin_pass();
        for (std::size_t i = 1; i <= kBlocks; ++i) {
          Unit& unit = sharding.acquire(i, Pass::kForward);
          if (!holds_whole_weights(unit, i, unit.compute())) return false;
          sharding.release(i, Pass::kForward);
        }
        sharding.end_pass();
        return true;
      });

  CHECK(calls == gathers({"embeddings", "head", "blocks.0", "blocks.1", "blocks.2"}));
}

TEST_CASE("ShardedUnits: blocks in host memory are there when they are asked for, whole and anew") {
  for (const auto axis : {Axes::kShards, Axes::kReplicas}) {
    const Lines calls = on_two_ranks(
        axis, {.shards_weights = true, .weights_on_host = true}, [](ShardedUnits& sharding) {
          bool right = true;
          for (int update = 0; update < 2; ++update) {
            sharding.publish_weights();
            sharding.begin_pass();
            for (std::size_t i = 1; i <= kBlocks; ++i) {
              Unit& unit = sharding.acquire(i, Pass::kForward);
              right = right && holds_whole_weights(unit, i, unit.compute());
              // Two slots are the memory that a pass takes.
              right = right && unit.compute().data_ptr() != sharding.shard_compute(i).data_ptr();
              sharding.release(i, Pass::kForward);
            }
            sharding.end_pass();
          }
          return right;
        });
    const std::size_t a_pass = 2 + kBlocks;  // embeddings and head are shared when they change
    CHECK(calls.size() == (axis == Axes::kShards ? 2 * a_pass : 0));
  }
}

TEST_CASE("ShardedUnits: replicas have everything and share nothing") {
  const Lines calls =
      on_two_ranks(Axes::kReplicas, {.shards_weights = true}, [](ShardedUnits& sharding) {
        sharding.publish_weights();
        sharding.begin_pass();
        bool right = true;
        for (std::size_t i = 0; i < sharding.units().size(); ++i) {
          Unit& unit = sharding.acquire(i, Pass::kForward);
          right = right && holds_whole_weights(unit, i, unit.compute());
          sharding.release(i, Pass::kForward);
        }
        sharding.end_pass();
        return right;
      });

  CHECK(calls.empty());
}

TEST_CASE("ShardedUnits: micro-steps that reduce are another kind than those that do not") {
  on_two_ranks(Axes::kShards, {}, [](ShardedUnits& sharding) {
    sharding.begin_micro_step(false);
    const int first = sharding.micro_step_kind();
    sharding.begin_micro_step(true);
    return first != sharding.micro_step_kind();
  });
  on_two_ranks(Axes::kShards, {.reduce = ReduceTime::kEach}, [](ShardedUnits& sharding) {
    sharding.begin_micro_step(false);
    const int first = sharding.micro_step_kind();
    sharding.begin_micro_step(true);
    return first == sharding.micro_step_kind();
  });
}
