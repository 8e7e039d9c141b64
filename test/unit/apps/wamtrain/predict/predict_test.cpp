#include "apps/wamtrain/predict/predict.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::Cluster;
using wam::Prediction;
using wam::StrategyPrediction;

namespace {

const std::filesystem::path kSource = WAM_SOURCE_DIR;

wam::CardRates h200() {
  return wam::load_rates(kSource / "configs" / "rates" / "h200.yaml");
}

Prediction plan(const std::string& model,
                const std::vector<std::string>& overrides,
                const Cluster& cluster,
                const wam::CardRates& rates = h200()) {
  const auto recipe =
      wam::load_recipe_file(kSource / "configs" / (model + "_bench.yaml"), overrides);
  return wam::predict(recipe, rates, cluster);
}

// The first row of a strategy, with this reduction.
const StrategyPrediction& row(const Prediction& p, const std::string& strategy, bool each = false) {
  const auto found =
      std::find_if(p.strategies.begin(), p.strategies.end(), [&](const StrategyPrediction& one) {
        return one.strategy == strategy && one.spread.reduces_each == each;
      });
  REQUIRE(found != p.strategies.end());
  return *found;
}

double figure(const std::string& id, const std::string& name) {
  std::ifstream in(kSource / "docs" / "benchmarks" / (id + ".json"));
  return nlohmann::json::parse(in)["figures"][name]["value"].get<double>();
}

double seconds(const StrategyPrediction& one) {
  REQUIRE(one.step.has_value());
  return one.step->total_s();
}

}  // namespace

TEST_CASE("predict: with cached latents encoders take neither memory nor time") {
  const Prediction live = plan("5b", {}, {});
  const Prediction cached = plan("5b", {"data.latents=cached", "data.augmentations=1"}, {});

  CHECK(live.encoder_bytes > 0);
  CHECK(cached.encoder_bytes == 0);
  const auto& with = live.strategies.front();
  const auto& without = cached.strategies.front();
  CHECK(with.total_bytes - without.total_bytes == live.encoder_bytes);
  CHECK(with.step->encoders_s > 0);
  CHECK(without.step->encoders_s == 0);
  CHECK(seconds(with) - seconds(without) == Approx(with.step->encoders_s));
  CHECK_THAT(prediction_text(cached), Contains("Encoders: none, since data.latents is cached."));
}

// The loop reads other texts than the benchmark of the model, has the image encoder, and waits now
// and then: it is slower than its parts.
TEST_CASE("predict: the measured loop of the 5B on one GPU, from its parts") {
  const Prediction p =
      plan("5b", {"train.global_batch=32", "train.micro_batch=8", "memory.recompute=norms"}, {});

  REQUIRE(p.strategies.size() == 1);
  const auto& only = p.strategies.front();
  const double measured_s = 1e-3 * figure("5b_loop_samples_s", "ms");
  CHECK(seconds(only) == Approx(measured_s).epsilon(0.04));
  CHECK(only.samples_s == Approx(figure("5b_loop_samples_s", "samples_s")).epsilon(0.04));
  CHECK(only.step->exposed_s() == 0);
  CHECK(only.step->optimizer_s == Approx(1e-3 * figure("adamw_tb_s", "ms")).epsilon(0.01));
  CHECK(p.fits(only));
}

TEST_CASE("predict: measured peaks of forward and backward") {
  struct Case {
    std::string id;
    std::vector<std::string> overrides;
  };
  for (const Case& c : {Case{"5b_mbs1_ms", {"train.micro_batch=1", "memory.recompute=none"}},
                        Case{"5b_fwd_bwd_best", {"train.micro_batch=8", "memory.recompute=none"}},
                        Case{"5b_mbs32_full", {"train.micro_batch=32", "train.global_batch=32"}}}) {
    const Prediction p = plan("5b", c.overrides, {});
    const auto& memory = p.strategies.front().memory;
    INFO(c.id);
    CHECK(static_cast<double>(memory.weights + memory.gradients + p.activation_bytes) ==
          Approx(figure(c.id, "peak_bytes")).epsilon(0.02));
  }
}

TEST_CASE("predict: two GPUs share the state, and lose time to what is not hidden") {
  const std::vector<std::string> overrides{"train.global_batch=64", "train.micro_batch=8",
                                           "memory.recompute=norms"};
  const Prediction one = plan("5b", {overrides[1], overrides[2], "train.global_batch=32"}, {});
  const Prediction two = plan("5b", overrides, {.gpus = 2});

  CHECK(two.micro_steps == 4);
  CHECK(two.samples_of_gpu == 32);
  const auto& alone = one.strategies.front();
  for (const char* strategy : {"no_shard", "shard_grad_op", "full_shard"}) {
    const auto& both = row(two, strategy);
    INFO(strategy);
    CHECK(both.step->compute_s == Approx(alone.step->compute_s));
    CHECK(both.step->exposed_s() > 0);
    CHECK(both.step->exposed_s() < 0.1 * seconds(both));
    CHECK(both.samples_s < 2 * alone.samples_s);
  }
  // Every strategy but no_shard has half of the state, 12 bytes a parameter.
  CHECK(row(two, "full_shard").memory.optimizer ==
        Approx(alone.memory.optimizer / 2).epsilon(1e-4));
  CHECK(row(two, "full_shard").step->optimizer_s == Approx(alone.step->optimizer_s / 2));
  CHECK(row(two, "full_shard").traffic.total() > row(two, "shard_grad_op").traffic.total());
  CHECK(row(two, "full_shard", true).memory.gradients < row(two, "full_shard").memory.gradients);
}

TEST_CASE("predict: the 14B does not fit two GPUs, the state moves to the host") {
  const Prediction p = plan("14b", {"train.global_batch=16", "memory.recompute=full"}, {.gpus = 2});

  for (const auto& one : p.strategies) {
    if (!one.spread.state_on_host) CHECK_FALSE(p.fits(one));
  }
  const auto found = std::find_if(p.strategies.begin(), p.strategies.end(), [](const auto& one) {
    return one.spread.state_on_host && one.strategy == "full_shard";
  });
  REQUIRE(found != p.strategies.end());
  const StrategyPrediction& host = *found;
  CHECK(p.fits(host));
  CHECK(host.memory.optimizer == 0);
  CHECK(static_cast<double>(host.memory.host) == Approx(12 * 16.487e9).epsilon(0.01));
  // The host updates 16.5 billion parameters at 30 bytes and 129 GB/s.
  CHECK(host.step->optimizer_s == Approx(3.834).epsilon(0.01));
}

TEST_CASE("predict: where nothing fits, the first blocks that would make it fit") {
  const Prediction p = plan("14b", {"train.global_batch=16", "memory.recompute=none"}, {.gpus = 2});
  REQUIRE(p.first_blocks > 0);
  CHECK_THAT(prediction_text(p),
             Contains("nothing fits 139.8 GiB") &&
                 Contains(fmt::format("memory.first_blocks: {}", p.first_blocks)));

  const auto fitting = [&](std::int64_t blocks) {
    const Prediction with = plan("14b",
                                 {"train.global_batch=16", "memory.recompute=none",
                                  fmt::format("memory.first_blocks={}", blocks)},
                                 {.gpus = 2});
    return std::any_of(with.strategies.begin(), with.strategies.end(),
                       [&](const auto& one) { return with.fits(one); });
  };
  CHECK(fitting(p.first_blocks));
  if (p.first_blocks > 1) CHECK_FALSE(fitting(p.first_blocks - 1));
}

TEST_CASE("predict: a part of the global batch that is smaller than the micro-batch, and a rest") {
  const Prediction small = plan("5b", {"train.global_batch=8", "train.micro_batch=8"}, {.gpus = 4});
  CHECK(small.micro_batch == 2);
  CHECK(small.micro_steps == 1);
  CHECK_THAT(prediction_text(small), Contains("train.micro_batch 8 is more than a GPU's part"));

  // 10 samples a GPU: 8 and 2.
  const Prediction rest = plan(
      "5b", {"train.global_batch=20", "train.micro_batch=8", "memory.recompute=none"}, {.gpus = 2});
  const Prediction two = plan(
      "5b", {"train.global_batch=4", "train.micro_batch=2", "memory.recompute=none"}, {.gpus = 2});
  CHECK(rest.micro_steps == 2);
  CHECK(row(rest, "no_shard").step->compute_s == Approx(rest.micro_step_s + two.micro_step_s));

  CHECK_THAT(
      prediction_text(plan("5b", {"train.global_batch=2", "train.micro_batch=1"}, {.gpus = 4})),
      Contains("leaves 2 GPUs without a sample"));
}

TEST_CASE("predict: nodes bring the hybrid, and their network slows what crosses it") {
  const std::vector<std::string> overrides{"train.global_batch=128", "train.micro_batch=8"};
  const Cluster fast{.gpus = 16, .nodes = 2, .link_gb_s = 50};
  const Cluster slow{.gpus = 16, .nodes = 2, .link_gb_s = 5};

  const Prediction p = plan("5b", overrides, fast);
  const Prediction q = plan("5b", overrides, slow);

  CHECK(row(p, "hybrid_shard").spread.shard_size == 8);
  CHECK(row(p, "hybrid_shard").traffic.replicas > 0);
  CHECK(seconds(row(q, "full_shard")) > seconds(row(p, "full_shard")));
  CHECK(row(q, "hybrid_shard").samples_s > row(q, "full_shard").samples_s);
}

TEST_CASE("predict: the recipe's own row, its groups and its type of reduction") {
  const Prediction p = plan("5b",
                            {"parallel.strategy=hybrid_shard", "parallel.shard_size=4",
                             "parallel.reduce=each", "parallel.reduce_dtype=bf16"},
                            {.gpus = 8});

  for (const auto& one : p.strategies) {
    CHECK(one.is_of_recipe == (one.strategy == "hybrid_shard" && one.spread.reduces_each));
    CHECK(one.spread.reduce_bytes == 2);
  }
  CHECK(row(p, "hybrid_shard").spread.shard_size == 4);
  CHECK(row(p, "hybrid_shard").spread.replicas() == 2);
  CHECK_THAT(prediction_text(p), Contains("*hybrid_shard  each"));

  const Prediction fp32 = plan("5b", {}, {.gpus = 8});
  CHECK(row(fp32, "full_shard").traffic.reduce == Approx(2 * row(p, "full_shard").traffic.reduce));
  CHECK_THAT(prediction_text(fp32), Contains("*no_shard"));
}

TEST_CASE("predict: a recipe that offloads is shown so, whether it must or not") {
  const Prediction p = plan("5b", {"parallel.offload=optimizer"}, {.gpus = 2});

  const auto own = std::find_if(p.strategies.begin(), p.strategies.end(),
                                [](const auto& one) { return one.is_of_recipe; });
  REQUIRE(own != p.strategies.end());
  CHECK(own->strategy == "no_shard");
  CHECK(own->spread.state_on_host);
  CHECK(own->memory.optimizer == 0);
  CHECK(p.strategies.size() == 10);  // five ways, each with the state on the GPU and on the host
}

TEST_CASE("predict: groups that divide neither GPUs nor nodes are refused") {
  const std::vector<std::string> three{"parallel.strategy=hybrid_shard", "parallel.shard_size=3"};
  CHECK_THROWS_WITH(plan("5b", three, {.gpus = 8}), Contains("shard_size") && Contains("Fix: "));
  const std::vector<std::string> eight{"parallel.strategy=hybrid_shard", "parallel.shard_size=8"};
  CHECK_THROWS_WITH(plan("5b", eight, {.gpus = 24, .nodes = 2, .link_gb_s = 50}),
                    Contains("groups of 8 GPUs do not fill nodes of 12"));
}

TEST_CASE("predict: unknown rates leave the time out, assumed ones are named") {
  wam::CardRates rates = h200();
  rates.all_gather_gb_s.value = 0;
  const Prediction p = plan("5b", {}, {.gpus = 2}, rates);

  CHECK(row(p, "no_shard").step.has_value());
  CHECK_FALSE(row(p, "full_shard").step.has_value());
  CHECK(row(p, "full_shard").memory.weights > 0);
  const std::string text = prediction_text(p);
  CHECK_THAT(text, Contains("does not know: all_gather_gb_s."));
  CHECK_THAT(text, Contains("Assumed, not measured: hop_us"));

  const Prediction fp32 = plan("5b", {"precision.compute=fp32"}, {.gpus = 2});
  CHECK_FALSE(row(fp32, "no_shard").step.has_value());
  CHECK_THAT(prediction_text(fp32), Contains("no micro-step in fp32 was measured"));
}

TEST_CASE("predict: the table stays within 100 columns, and the JSON has all of it") {
  const Prediction p =
      plan("14b", {"train.global_batch=1024"}, {.gpus = 1024, .nodes = 128, .link_gb_s = 50});
  std::istringstream lines(prediction_text(p));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
  }
  const auto json = nlohmann::json::parse(prediction_json(p));
  CHECK(json["gpus"] == 1024);
  REQUIRE(json["strategies"].size() == p.strategies.size());
  const auto& first = json["strategies"][0];
  CHECK(first["strategy"] == "no_shard");
  CHECK(first["total_bytes"] ==
        first["weight_bytes"].get<std::int64_t>() + first["gradient_bytes"].get<std::int64_t>() +
            first["optimizer_bytes"].get<std::int64_t>() + p.activation_bytes + p.encoder_bytes);
  CHECK(first["time"]["samples_s"].get<double>() > 0);
}

TEST_CASE("predict: a cluster that contradicts itself is refused") {
  CHECK_THROWS_AS(plan("5b", {}, {.gpus = 5, .nodes = 2, .link_gb_s = 1}), wam::ConfigError);
}
