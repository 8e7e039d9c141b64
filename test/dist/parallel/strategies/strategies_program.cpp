// strategies_program RUN_DIR: one rank that trains the small model with every strategy and every
// option that meets it, and compares each training with its own of one rank alone. Prints how many
// cases agree. Exit codes: 0, 1 when a case differs (each is named), else as the trainer's.

#include <cmath>
#include <cstdio>
#include <optional>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/base/errors.h"
#include "core/io/hash.h"
#include "test/dist/parallel/strategies/stage.h"

namespace wam::test {
namespace {

// Largest absolute difference over the largest absolute value that the whole of `expected` has.
double difference(const at::Tensor& found, const at::Tensor& part, const at::Tensor& expected) {
  if (found.numel() == 0) return 0;
  return ((found - part).abs().max() / expected.abs().max()).item<double>();
}

std::int64_t hash_of(const at::Tensor& values) {
  return static_cast<std::int64_t>(content_hash(values.const_data_ptr(), values.nbytes()));
}

class Matrix {
 public:
  explicit Matrix(const std::string& run_dir) : stage_(run_dir), world_(stage_.env().world_size) {}

  // Whether all cases agree.
  bool run() {
    for (const ShardingStrategy strategy : stage_.strategies()) {
      for (const auto reduce : {ReduceTime::kLast, ReduceTime::kEach}) {
        const Case c{.strategy = strategy, .reduce = reduce, .job = accumulated(3)};
        run_options(c);
        check_fp32(c);
        if (world_ == 3) check_uneven_epochs(c);
        if (world_ > 1) check_narrow_sums(c);
      }
    }
    fmt::print(
        "rank {} of {}: {} cases agree, {} differ; the largest difference of doubles is {:.1e}\n",
        stage_.env().global_rank, world_, num_cases_ - num_failed_, num_failed_, largest_);
    stage_.leave();
    return num_failed_ == 0;
  }

 private:
  // All of them with one time of the reduction, half of them with the other, which is another way
  // for gradients alone.
  void run_options(Case c) {
    for (const auto& [offload, offload_name] : EnumNames<Offload>::table) {
      for (const std::int64_t accumulate : {1, 3}) {
        for (const auto recompute : {RecomputePolicy::kNone, RecomputePolicy::kFull}) {
          c.offload = offload;
          c.recompute = recompute;
          const bool both = c.offload != Offload::kNone && recompute != RecomputePolicy::kNone;
          const bool neither = c.offload == Offload::kNone && recompute == RecomputePolicy::kNone;
          if (c.reduce == ReduceTime::kEach && !both && !neither) continue;
          c.job = accumulated(accumulate);
          check_case(c);
        }
      }
    }
  }

  // A large epsilon keeps an update from being the sign of what rounding left of a gradient.
  void check_fp32(Case c) {
    c.type = at::kFloat;
    c.job.epsilon = 1e-2;
    check_case(c);
  }

  // 48 of 101 windows a step, so the third goes on into the second epoch; micro-batches of 11
  // and 5.
  void check_uneven_epochs(Case c) {
    c.job.plan = stage_.plan(48, 11);
    check_case(c);
  }

  // Nine samples a step in so many micro-steps: over 2 and 4 ranks they are uneven, and in the
  // third some ranks have none.
  [[nodiscard]] Job accumulated(std::int64_t micro_steps) const {
    const std::int64_t largest = (9 + world_ - 1) / world_;
    const BatchPlan plan = stage_.plan(9, (largest + micro_steps - 1) / micro_steps);
    invariant(plan.micro_steps() == micro_steps, "a batch that does not divide as the case wants");
    return {.plan = plan};
  }

  // One rank's numbers for all samples of a step in one micro-batch.
  const Numbers& expected_of(const Case& c) {
    auto& held = expected_[{c.type, c.job.plan.global_batch}];
    if (held) return *held;
    Case alone{.type = c.type, .job = c.job};
    alone.job.plan = {.global_batch = c.job.plan.global_batch,
                      .micro_batch = static_cast<std::int64_t>(c.job.plan.global_batch)};
    ShardedUnits sharding = stage_.make_lone_sharding(alone);
    held.emplace(train(stage_.model(alone), sharding, stage_.windows(), alone.job));
    return *held;
  }

  void check_case(const Case& c) {
    const Numbers& expected = expected_of(c);
    ShardedUnits sharding = stage_.make_sharding(c, c.type);
    const Numbers found = train(stage_.model(c), sharding, stage_.windows(), c.job);
    compare(found, expected, sharding, c.type);
    check_compute_copies(sharding);
    if (world_ > 1) check_replicas(stage_.layout(c), sharding);
    sharding.begin_pass();  // throws where something is still held
    sharding.end_pass();
    close_case(c);
  }

  void compare(const Numbers& found,
               const Numbers& expected,
               ShardedUnits& sharding,
               at::ScalarType type) {
    // fp32: sums of at most 9 samples of 40 tokens in another order.
    const double limit = type == at::kDouble ? 1e-10 : 8 * 1.2e-7 * std::sqrt(9.0 * 40);
    const auto close = [&](const std::string& what, double error) {
      if (type == at::kDouble) largest_ = std::max(largest_, error);
      if (!(error <= limit)) problem(fmt::format("{} differs by {:.2e}", what, error));
    };
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
      close("a loss", std::abs(found.losses[i] / expected.losses[i] - 1));
    }
    for (std::size_t i = 0; i < expected.norms.size(); ++i) {
      close("a norm", std::abs(found.norms[i] / expected.norms[i] - 1));
    }
    for (std::size_t i = 0; i < expected.states.size(); ++i) {
      const Unit& unit = sharding.units()[i];
      for (const auto& [array, whole] : expected.states[i]) {
        const at::Tensor part = whole.narrow(0, unit.shard().begin, unit.shard().numel());
        close(array + " of " + unit.spec().name,
              difference(found.states[i].at(array), part, whole));
      }
    }
  }

  void check_compute_copies(ShardedUnits& sharding) {
    for (std::size_t i = 0; i < sharding.units().size(); ++i) {
      Unit& unit = sharding.units()[i];
      if (at::equal(sharding.shard_compute(i), unit.state("master"))) continue;
      problem("the compute copy is not the master of " + unit.spec().name);
    }
  }

  // Bits that several ranks hold are equal: shards on the ranks that replicate them, weights that
  // are whole on all ranks. And all ranks have issued as many collectives.
  void check_replicas(const Layout& layout, ShardedUnits& sharding) {
    std::vector<std::int64_t> on_all{static_cast<std::int64_t>(stage_.issued())};
    std::vector<std::int64_t> on_replicas;
    for (Unit& unit : sharding.units()) {
      for (const auto& [array, values] : unit.states()) on_replicas.push_back(hash_of(values));
      const bool whole = !layout.shards_weights || unit.spec().held_throughout;
      if (whole) on_all.push_back(hash_of(unit.compute()));
    }
    const MeshAxes& axes = stage_.axes(layout);
    check_equal(*axes.world, on_all, "whole weights, or the number of collectives");
    if (axes.replicas) check_equal(*axes.replicas, on_replicas, "replicas");
  }

  void check_equal(Collectives& axis, const std::vector<std::int64_t>& mine, const char* what) {
    const at::Tensor piece = at::tensor(mine, at::kLong);
    at::Tensor full = at::empty({axis.axis_size() * piece.numel()}, at::kLong);
    axis.all_gather(full, piece, "hashes");
    if (full.view({-1, piece.numel()}).eq(piece).all().item<bool>()) return;
    problem(fmt::format("{} are not equal", what));
  }

  // Gradients that travel in bf16: every contribution is rounded once, and the sum once more at
  // each addition, by at most 2^-8 of what it is.
  void check_narrow_sums(const Case& c) {
    std::vector<WholeGradient> whole = own_gradients(c);
    ShardedUnits sharding = stage_.make_sharding(c, at::kBFloat16);
    fill_weights(sharding);
    sharding.begin_step();
    run_micro_steps(stage_.model(c), sharding, stage_.windows(), c.job.plan, 0);
    Collectives& ranks = *stage_.axes(stage_.layout(c)).world;
    double largest = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      ranks.all_reduce_sum(whole[i].sum, "expected gradients");
      ranks.all_reduce_sum(whole[i].size, "sizes of gradients");
      const ShardRange& shard = sharding.units()[i].shard();
      if (shard.numel() == 0) continue;
      const at::Tensor expected = whole[i].sum.narrow(0, shard.begin, shard.numel());
      const at::Tensor size = whole[i].size.narrow(0, shard.begin, shard.numel());
      const at::Tensor error = (sharding.shard_gradient(i) - expected).abs();
      largest = std::max(largest, (error / (size * world_ / 256.0 + 1e-30)).max().item<double>());
    }
    if (!(largest <= 1.02)) problem(fmt::format("bf16: {:.2f} of the bound", largest));
    if (!(largest > 1e-3)) problem("bf16: nothing was rounded");
    close_case(c);
  }

  struct WholeGradient {
    at::Tensor sum;
    at::Tensor size;  // sum of the absolute values that micro-steps contributed
  };
  // This rank's contributions to the first step.
  std::vector<WholeGradient> own_gradients(const Case& c) {
    ShardedUnits sharding = stage_.make_lone_sharding(c);
    fill_weights(sharding);
    std::vector<WholeGradient> out;
    for (const Unit& unit : sharding.units()) {
      const at::Tensor zero = at::zeros({unit.spec().trainable_numel}, c.type);
      out.push_back({zero, zero.clone()});
    }
    const double weight = 1.0 / static_cast<double>(c.job.plan.global_batch);
    for (std::int64_t m = 0; m < c.job.plan.micro_steps(); ++m) {
      sharding.begin_step();
      sharding.begin_micro_step(true);
      const Batch batch = stage_.windows().batch(c.job.plan.ordinals(0, m));
      stage_.model(c).train(batch, sharding, kSeed, weight);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i].sum += sharding.shard_gradient(i);
        out[i].size += sharding.shard_gradient(i).abs();
      }
    }
    return out;
  }

  void problem(const std::string& text) { problems_.push_back(text); }

  void close_case(const Case& c) {
    ++num_cases_;
    if (!problems_.empty()) ++num_failed_;
    for (const std::string& text : problems_) {
      fmt::print(stderr, "rank {}: {}: {}\n", stage_.env().global_rank, in_words(c), text);
    }
    problems_.clear();
  }

  Stage stage_;
  int world_;
  std::map<std::pair<at::ScalarType, std::uint64_t>, std::optional<Numbers>> expected_;
  std::vector<std::string> problems_;  // of the case in hand
  int num_cases_ = 0;
  int num_failed_ = 0;
  double largest_ = 0;
};

}  // namespace
}  // namespace wam::test

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw wam::ConfigError("RUN_DIR is missing");
    at::set_num_threads(1);
    return wam::test::Matrix(argv[1]).run() ? 0 : 1;
  } catch (const wam::CommError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 4;
  }
}
