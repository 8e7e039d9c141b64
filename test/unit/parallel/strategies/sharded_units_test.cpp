#include "parallel/strategies/sharded_units.h"

#include <ATen/TensorOperators.h>
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

// So many ranks along one axis, each with masters of whole_weights; `work` returns whether all is
// right.
template <class Work>
Lines on_ranks(int count, Axes which, ShardedUnits::Options options, const Work& work) {
  ThreadAxis axis(count);
  const auto size = static_cast<std::size_t>(count);
  std::vector<Lines> calls(size);
  std::vector<char> right(size);
  run_ranks(count, [&](int number) {
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
  CHECK(right == std::vector<char>(size, 1));
  CHECK(calls == std::vector<Lines>(size, calls[0]));
  return calls[0];
}

template <class Work>
Lines on_two_ranks(Axes which, const ShardedUnits::Options& options, const Work& work) {
  return on_ranks(2, which, options, work);
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

TEST_CASE("ShardedUnits: a rank that owns no element of a unit gathers and reduces all the same") {
  constexpr int kRanks = 7;  // of blocks.0, which has five pieces
  for (const ReduceTime reduce : {ReduceTime::kLast, ReduceTime::kEach}) {
    const auto step = [](ShardedUnits& sharding) {
      bool right = true;
      sharding.publish_weights();
      sharding.begin_step();
      sharding.begin_micro_step(true);
      sharding.begin_pass();
      for (std::size_t i = 1; i <= kBlocks; ++i) {
        Unit& unit = sharding.acquire(i, Pass::kForward);
        right = right && holds_whole_weights(unit, i, unit.compute());
        sharding.release(i, Pass::kForward);
      }
      for (std::size_t i = kBlocks; i >= 1; --i) {
        Unit& unit = sharding.acquire(i, Pass::kBackward);
        const std::int64_t numel = unit.spec().trainable_numel;
        unit.gradient().narrow(0, 0, numel).add_(whole_weights(unit.spec(), i, 1));
        sharding.gradient_complete(i);
        sharding.release(i, Pass::kBackward);
      }
      sharding.end_pass();
      for (std::size_t i = 1; i <= kBlocks; ++i) {
        Unit& unit = sharding.units()[i];
        const at::Tensor part =
            whole_weights(unit.spec(), i, 1).narrow(0, unit.shard().begin, unit.shard().numel());
        right = right && at::equal(sharding.shard_gradient(i), part * kRanks);
      }
      const bool is_empty = sharding.units()[1].shard().numel() == 0;
      return right && is_empty == (sharding.units()[1].placement().shard_idx >= 5);
    };
    on_ranks(kRanks, Axes::kShards, {.shards_weights = true, .reduce = reduce}, step);
  }
}
