// A run goes on from its checkpoint on another number of ranks, with any other strategy.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>

#include <ATen/TensorOperators.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/train/checkpoint_reader.h"
#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::CheckpointReader;
using wam::test::must_train;
using wam::test::RankProcess;
using wam::test::TinyRuns;

namespace {

// In double, where only the order of sums moves a result; 3 of 5 micro-steps are uneven.
TinyRuns::Overrides with(TinyRuns::Overrides more) {
  more.insert(more.end(), {"precision.compute=fp64", "train.steps=6", "checkpoint.every=3",
                           "train.global_batch=5", "train.micro_batch=2", "run.timeout_s=20"});
  return more;
}

// Losses and norms of all steps.
std::vector<double> numbers(const TinyRuns& runs, const std::string& run) {
  std::vector<double> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    for (const char* key : {"loss", "video_loss", "action_loss", "grad_norm"}) {
      out.push_back(json[key].get<double>());
    }
  }
  return out;
}

// What each step from `first` on was trained on, by all ranks together.
std::vector<std::vector<std::string>> samples_from(const TinyRuns& runs,
                                                   const std::string& run,
                                                   std::int64_t first) {
  std::vector<std::vector<std::string>> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["step"].get<std::int64_t>() < first) continue;
    out.push_back(json["samples"].get<std::vector<std::string>>());
    REQUIRE(out.back().size() == 5);
  }
  return out;
}

double largest_difference(const std::vector<double>& found, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(found[i] / expected[i] - 1));
  }
  return largest;
}

// Over all parameters and moments, relative to the largest value of each tensor.
double largest_difference(CheckpointReader& found, CheckpointReader& expected) {
  double largest = 0;
  for (const auto& name : expected.tensor_names()) {
    for (const char* array : {"master", "exp_avg", "exp_avg_sq"}) {
      const at::Tensor e = expected.read_tensor(name, array);
      const at::Tensor f = found.read_tensor(name, array);
      const double scale = std::max(e.abs().max().item<double>(), 1e-12);
      largest = std::max(largest, (f - e).abs().max().item<double>() / scale);
    }
  }
  return largest;
}

void check_equal_runs(const TinyRuns& runs, const std::string& run) {
  const auto found = numbers(runs, run);
  const auto expected = numbers(runs, "straight");
  REQUIRE(expected.size() == std::size_t{6} * 4);
  // A run that began at step 3 has no lines of the steps before.
  REQUIRE((found.size() == expected.size() || found.size() == expected.size() / 2));
  const auto skipped = static_cast<std::ptrdiff_t>(expected.size() - found.size());
  CHECK(largest_difference(found, {expected.begin() + skipped, expected.end()}) < 1e-10);
  CheckpointReader found_state(runs.checkpoint(run, 6));
  CheckpointReader expected_state(runs.checkpoint("straight", 6));
  CHECK(largest_difference(found_state, expected_state) < 1e-9);
}

}  // namespace

TEST_CASE(
    "ranks: saved by two with full_shard, a run goes on on 1, 3 and 4 with other strategies") {
  const TinyRuns runs;
  must_train(runs, "straight", 2, with({"parallel.strategy=full_shard"}));
  const struct {
    const char* name;
    int ranks;
    TinyRuns::Overrides overrides;
  } others[] = {
      {"one", 1, {"parallel.offload=optimizer"}},
      {"three_none", 3, {"parallel.strategy=no_shard", "parallel.reduce=each"}},
      {"three_grad", 3, {"parallel.strategy=shard_grad_op", "memory.recompute=full"}},
      {"four_hybrid", 4, {"parallel.strategy=hybrid_shard", "parallel.shard_size=2"}},
      {"four_full", 4, {"parallel.strategy=full_shard", "parallel.offload=optimizer"}},
  };
  for (const auto& other : others) {
    INFO(other.name);
    auto overrides = with(other.overrides);
    overrides.emplace_back("checkpoint.resume=straight/checkpoints/step_00000003");
    must_train(runs, other.name, other.ranks, overrides);
    check_equal_runs(runs, other.name);
  }
}

TEST_CASE(
    "ranks: on any number of them the 50 steps after a resume take the samples of a straight run") {
  const TinyRuns runs;
  // Updates that are not finite are skipped, and name the samples of all ranks. 56 steps go on into
  // the second epoch.
  const TinyRuns::Overrides overrides{
      "train.steps=56",      "checkpoint.every=6",      "train.learning_rate=1.0e+30",
      "train.warmup=0",      "train.max_nonfinite=100", "train.global_batch=5",
      "train.micro_batch=2", "run.timeout_s=20"};
  must_train(runs, "straight", 2, overrides);
  const auto expected = samples_from(runs, "straight", 7);
  REQUIRE(expected.size() == 50);

  for (const int ranks : {1, 3, 4}) {
    INFO(ranks << " ranks");
    const std::string run = fmt::format("on_{}", ranks);
    auto resumed = overrides;
    resumed.emplace_back("parallel.strategy=full_shard");
    resumed.emplace_back("checkpoint.resume=straight/checkpoints/step_00000006");
    must_train(runs, run, ranks, resumed);
    CHECK(samples_from(runs, run, 7) == expected);
  }
}

TEST_CASE("ranks: under mpirun two train as one does") {
  if (*WAM_MPIRUN == '\0') {
    std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
    return;
  }
  const TinyRuns runs;
  runs.must_train("straight", with({}));
  std::vector<std::string> words{"/usr/bin/env", "-C", runs.path().string(), WAM_MPIRUN,
                                 "-np",          "2",  "--oversubscribe",    "--allow-run-as-root",
                                 WAM_PROGRAM};
  const auto arguments = runs.arguments("train", "two", with({"parallel.strategy=full_shard"}));
  words.insert(words.end(), arguments.begin(), arguments.end());

  RankProcess start(words, {}, runs.path() / "mpirun");

  const int code = start.wait();
  INFO(start.output());
  CHECK(code == 0);
  CHECK_THAT(start.output(), Contains("2 ranks: full_shard"));
  check_equal_runs(runs, "two");
}
