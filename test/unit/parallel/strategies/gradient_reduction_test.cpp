#include "parallel/strategies/gradient_reduction.h"

#include <cmath>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>

#include "parallel/collectives/absent_ranks.h"
#include "test/support/catch.h"
#include "test/unit/parallel/strategies/rank_units.h"

using wam::GradientReduction;
using wam::ReduceTime;
using wam::Unit;
using wam::test::rank_specs;
using wam::test::run_ranks;
using wam::test::ThreadAxis;
using Lines = std::vector<std::string>;

namespace {

constexpr int kBlocks = 3;

double times(std::size_t unit_idx) {
  return static_cast<double>(1U << unit_idx);
}

// One rank of `shards` x `replicas`, which plays the backward of micro-steps.
class Rank {
 public:
  Rank(std::shared_ptr<wam::Collectives> shards,
       std::shared_ptr<wam::Collectives> replicas,
       const GradientReduction::Options& options)
      : shards_(std::move(shards)), replicas_(std::move(replicas)) {
    const wam::UnitPlacement placement{.shard_idx = shards_->axis_rank(),
                                       .num_shards = shards_->axis_size()};
    for (const auto& spec : rank_specs(kBlocks)) units_.emplace_back(spec, placement);
    reduction_.emplace(units_, *shards_, *replicas_, lane_, waits_, options);
  }

  // Adds `value` (times a power of two, by unit) to every gradient.
  void micro_step(double value, bool last) {
    reduction_->begin_micro_step(last);
    reduction_->begin_pass();
    const std::size_t head = units_.size() - 1;
    reduction_->prepare(head);
    reduction_->prepare(0);
    for (std::size_t i = head - 1; i > 0; --i) {
      reduction_->prepare(i);
      add(i, value);
    }
    add(head, value);
    add(0, value);
  }
  void begin_step() { reduction_->begin_step(); }

  // The value that all of this rank's gradients have, over that power of two; NaN when they
  // do not have one.
  [[nodiscard]] double value() {
    const double found = reduction_->shard_gradient(1).min().item<double>() / 2;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const at::Tensor gradient = reduction_->shard_gradient(i);
      const at::Tensor expected = at::full_like(gradient, found * times(i));
      if (gradient.numel() != units_[i].shard().numel() || !at::equal(gradient, expected)) {
        return std::nan("");
      }
    }
    return found;
  }
  [[nodiscard]] const void* buffer(std::size_t unit_idx) {
    return units_[unit_idx].gradient().const_data_ptr();
  }
  [[nodiscard]] bool reduces() const { return reduction_->reduces(); }
  [[nodiscard]] int kind() const { return reduction_->kind(); }

 private:
  void add(std::size_t unit_idx, double value) {
    units_[unit_idx].gradient().add_(value * times(unit_idx));
    reduction_->complete(unit_idx);
  }

  std::shared_ptr<wam::Collectives> shards_;
  std::shared_ptr<wam::Collectives> replicas_;
  std::vector<Unit> units_;
  wam::Lane lane_{at::kCPU};
  wam::WaitTimes waits_{at::kCPU};
  std::optional<GradientReduction> reduction_;
};

// What `work(rank, number)` came to on each of two ranks that share the shards.
template <class Work>
std::vector<double> on_two_shards(const GradientReduction::Options& options,
                                  std::vector<Lines>& calls,
                                  const Work& work) {
  ThreadAxis axis(2);
  calls.assign(2, {});
  std::vector<double> out(2);
  run_ranks(2, [&](int number) {
    const auto i = static_cast<std::size_t>(number);
    Rank rank(axis.connect(number, calls[i]), std::make_shared<wam::AbsentRanks>(), options);
    rank.begin_step();
    out[i] = work(rank, number, calls[i]);
  });
  return out;
}

Lines scatters() {
  Lines out;
  for (const char* unit : {"blocks.2", "blocks.1", "blocks.0", "head", "embeddings"}) {
    out.push_back(std::string("reduce_scatter the gradient of ") + unit);
  }
  return out;
}

}  // namespace

TEST_CASE(
    "GradientReduction, last: micro-steps pile up, and the last one reduces each unit when "
    "it is complete") {
  std::vector<Lines> calls;
  const auto found = on_two_shards({}, calls, [](Rank& rank, int number, Lines& lines) {
    rank.micro_step(number + 1, false);
    const bool silent = lines.empty() && !rank.reduces();
    rank.micro_step(10 * (number + 1), true);
    return silent ? rank.value() : -1;
  });

  CHECK(found == std::vector<double>{33, 33});
  CHECK(calls[0] == scatters());
}

TEST_CASE("GradientReduction, each: every micro-step is reduced, and pieces pile up") {
  std::vector<Lines> calls;
  const auto found =
      on_two_shards({.time = ReduceTime::kEach}, calls, [](Rank& rank, int number, Lines& lines) {
        rank.micro_step(number + 1, false);
        const bool all = lines == scatters() && rank.reduces();
        rank.micro_step(10 * (number + 1), true);
        return all ? rank.value() : -1;
      });

  CHECK(found == std::vector<double>{33, 33});
  CHECK(calls[0].size() == 2 * scatters().size());
}

TEST_CASE("GradientReduction: a step begins with gradients of zero") {
  for (const ReduceTime time : {ReduceTime::kLast, ReduceTime::kEach}) {
    std::vector<Lines> calls;
    const auto found =
        on_two_shards({.time = time}, calls, [](Rank& rank, int number, Lines& /*lines*/) {
          rank.micro_step(5, true);
          rank.begin_step();
          rank.micro_step(number + 1, true);
          return rank.value();
        });
    CHECK(found == std::vector<double>{3, 3});
  }
}

TEST_CASE("GradientReduction, each: blocks take turns in two buffers, the rest have their own") {
  std::vector<Lines> calls;
  const auto found = on_two_shards(
      {.time = ReduceTime::kEach}, calls, [](Rank& rank, int /*number*/, Lines& /*lines*/) {
        rank.micro_step(1, true);
        const bool turns = rank.buffer(1) == rank.buffer(3) && rank.buffer(1) != rank.buffer(2);
        const bool own = rank.buffer(0) != rank.buffer(4) && rank.buffer(0) != rank.buffer(1) &&
                         rank.buffer(0) != rank.buffer(2);
        return turns && own ? 1.0 : 0.0;
      });
  CHECK(found == std::vector<double>{1, 1});
}

TEST_CASE("GradientReduction: in bf16 what travels is rounded, a rank's own sum is not") {
  const GradientReduction::Options last{.time = ReduceTime::kLast, .reduce_type = at::kBFloat16};
  const GradientReduction::Options each{.time = ReduceTime::kEach, .reduce_type = at::kBFloat16};
  // 256 + 1.5 on one rank, nothing on the other; numbers of bf16 above 256 are two apart.
  const auto work = [](Rank& rank, int number, Lines& /*lines*/) {
    rank.micro_step(number == 0 ? 256 : 0, false);
    rank.micro_step(number == 0 ? 1.5 : 0, true);
    return rank.value();
  };
  std::vector<Lines> calls;

  CHECK(on_two_shards(last, calls, work) == std::vector<double>{258, 258});
  CHECK(on_two_shards(each, calls, work) == std::vector<double>{257.5, 257.5});
}

TEST_CASE("GradientReduction: over shards and replicas the sum is over all ranks") {
  for (const ReduceTime time : {ReduceTime::kLast, ReduceTime::kEach}) {
    ThreadAxis first(2), second(2), even(2), odd(2);
    std::vector<Lines> calls(4);
    std::vector<double> found(4);
    run_ranks(4, [&](int number) {
      const auto i = static_cast<std::size_t>(number);
      ThreadAxis& group = number < 2 ? first : second;
      ThreadAxis& replicas = number % 2 == 0 ? even : odd;
      Rank rank(group.connect(number % 2, calls[i]), replicas.connect(number / 2, calls[i]),
                {.time = time});
      rank.begin_step();
      rank.micro_step(number + 1, false);
      const int first_kind = rank.kind();
      rank.micro_step(10 * (number + 1), true);
      found[i] = rank.kind() != first_kind ? rank.value() : -1;
    });
    CHECK(found == std::vector<double>{110, 110, 110, 110});
    // The first micro-step reduces nothing, or over the shards alone.
    Lines expected = time == ReduceTime::kEach ? scatters() : Lines();
    for (const std::string& scatter : scatters()) {
      expected.push_back(scatter);
      expected.push_back("all_reduce" + scatter.substr(scatter.find(' ')));
    }
    CHECK(calls[0] == expected);
  }
}

TEST_CASE("GradientReduction: replicas alone sum whole gradients, one rank alone nothing") {
  ThreadAxis axis(3);
  std::vector<Lines> calls(3);
  std::vector<double> found(3);
  run_ranks(3, [&](int number) {
    const auto i = static_cast<std::size_t>(number);
    Rank rank(std::make_shared<wam::AbsentRanks>(), axis.connect(number, calls[i]), {});
    rank.begin_step();
    rank.micro_step(number, true);
    found[i] = rank.value();
  });
  CHECK(found == std::vector<double>{3, 3, 3});
  CHECK(calls[0].front() == "all_reduce the gradient of blocks.2");

  Rank alone(std::make_shared<wam::AbsentRanks>(), std::make_shared<wam::AbsentRanks>(),
             {.time = ReduceTime::kEach, .reduce_type = at::kBFloat16});
  alone.begin_step();
  alone.micro_step(256, false);
  alone.micro_step(1.5, true);
  CHECK_FALSE(alone.reduces());
  CHECK(alone.value() == 257.5);
}
