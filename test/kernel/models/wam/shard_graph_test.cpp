// A sharded micro-step on one GPU: the other rank is played by an axis that knows its weights and
// has the same gradients. Lanes, slots and marks are the real ones, launched and recorded.

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include "core/cuda/device.h"
#include "models/wam/step_graphs.h"
#include "test/kernel/models/wam/gpu_stage.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

// Rank `rank` of two. Collectives take long, so that who does not wait for them is found out.
class PlayedPair final : public Collectives {
 public:
  PlayedPair(int rank, ShardedUnits& whole) : rank_(rank) {
    for (Unit& unit : whole.units()) {
      weights_["the weights of " + unit.spec().name] = unit.compute();
    }
    slow_ = at::empty({64 << 20}, at::TensorOptions(kDevice).dtype(at::kFloat));
  }
  [[nodiscard]] int axis_size() const override { return 2; }
  [[nodiscard]] int axis_rank() const override { return rank_; }
  void all_reduce_sum(at::Tensor& values, const std::string& /*what*/) override { values.mul_(2); }
  void all_gather(at::Tensor& full, const at::Tensor& piece, const std::string& what) override {
    slow_.fill_(1.0);
    const at::Tensor& weights = weights_.at(what);
    const std::int64_t other = (1 - rank_) * piece.numel();
    const std::int64_t there = std::min(piece.numel(), weights.numel() - other);
    full.narrow(0, other, there).copy_(weights.narrow(0, other, there));
    at::Tensor own = full.narrow(0, rank_ * piece.numel(), piece.numel());
    if (own.data_ptr() != piece.data_ptr()) own.copy_(piece);
  }
  void reduce_scatter_sum(at::Tensor& piece,
                          at::Tensor& full,
                          const std::string& /*what*/) override {
    slow_.fill_(2.0);
    full.mul_(2);
    if (!piece.is_alias_of(full)) {
      piece.copy_(full.narrow(0, rank_ * piece.numel(), piece.numel()));
    }
  }

 private:
  int rank_;
  std::map<std::string, at::Tensor> weights_;
  at::Tensor slow_;
};

struct ShardCase {
  int rank = 0;
  ReduceTime reduce = ReduceTime::kLast;
  bool graphs = false;
  RecomputePolicy policy = RecomputePolicy::kNone;
  bool weights_on_host = false;
};

std::unique_ptr<ShardedUnits> shards_of(ShardedUnits& whole,
                                        const std::vector<UnitSpec>& specs,
                                        at::ScalarType type,
                                        const ShardCase& c) {
  const auto pair = std::make_shared<PlayedPair>(c.rank, whole);
  auto out = std::make_unique<ShardedUnits>(
      specs, ShardedUnits::Options{.device = kDevice,
                                   .compute_type = type,
                                   .shards_weights = true,
                                   .weights_on_host = c.weights_on_host,
                                   .reduce = c.reduce,
                                   .axes = {.world = pair, .shards = pair, .replicas = nullptr}});
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ShardRange& shard = out->units()[i].shard();
    out->shard_compute(i).copy_(whole.units()[i].compute().narrow(0, shard.begin, shard.numel()));
  }
  out->share_weights();
  return out;
}

// Two micro-steps of four samples, the second of which reduces.
std::vector<double> two_micro_steps(Stage& stage,
                                    const Samples& samples,
                                    const ShardCase& c,
                                    Sharding& units) {
  Dit dit(stage.config, {c.policy}, stage.engine.get());
  StepGraphs graphs(dit, stage.schedule, kDevice);
  std::vector<double> losses;
  // A second step finds what the first one left behind.
  for (int step = 0; step < 2; ++step) {
    units.begin_step();
    for (const std::int64_t at : {0, 4}) {
      units.begin_micro_step(at == 4);
      const EncodedBatch batch = samples.part(at, 4);
      const Draws draws = samples.draws(at, 4);
      const Losses part = c.graphs ? graphs.run(batch, draws, units, 0.125)
                                   : training_step(dit, batch, draws, stage.schedule, units,
                                                   loss_weight(0.125, batch.text_BMD));
      losses.push_back(part.loss.item<double>());
    }
  }
  return losses;
}

void check_case(Stage& stage, const Samples& samples, at::ScalarType type, const ShardCase& c) {
  INFO("rank " << c.rank << (c.reduce == ReduceTime::kEach ? " each" : " last")
               << (c.graphs ? " graphs" : " launched") << ", policy " << name_of(c.policy)
               << (c.weights_on_host ? ", weights on the host" : ""));
  const Dit dit(stage.config, {c.policy}, stage.engine.get());
  const auto shards = shards_of(*stage.units, dit.units(), type, c);
  const auto expected = two_micro_steps(stage, samples, {.policy = c.policy}, *stage.units);
  CHECK(two_micro_steps(stage, samples, c, *shards) == expected);
  for (std::size_t i = 0; i < dit.units().size(); ++i) {
    const ShardRange& shard = shards->units()[i].shard();
    const at::Tensor one = stage.units->shard_gradient(i).narrow(0, shard.begin, shard.numel()) * 2;
    const at::Tensor found = shards->shard_gradient(i);
    INFO("unit " << i);
    if (c.reduce == ReduceTime::kLast) {
      CHECK(at::equal(found, one));
    } else {
      // Micro-steps are added after their sums are rounded, not into them.
      const double size = one.norm().item<double>();
      CHECK((found - one).norm().item<double>() <= 1e-6 * size);
    }
  }
}

}  // namespace

TEST_CASE("A sharded micro-step gives what whole units give, launched and replayed") {
  if (!gpu_available()) {
    std::puts("SKIPPED: no GPU");
    return;
  }
  const auto type = at::kBFloat16;
  Stage stage(kernel_config(ModelType::kTi2v), type);
  const Samples samples =
      samples_for(stage.config, {.samples = 8, .blocks = 2, .text_rows = 16}, type);
  for (const int rank : {0, 1}) {
    for (const auto reduce : {ReduceTime::kLast, ReduceTime::kEach}) {
      for (const bool graphs : {false, true}) {
        for (const auto policy : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
          for (const bool on_host : {false, true}) {
            check_case(stage, samples, type,
                       {.rank = rank,
                        .reduce = reduce,
                        .graphs = graphs,
                        .policy = policy,
                        .weights_on_host = on_host});
          }
        }
      }
    }
  }
}

}  // namespace wam::test
