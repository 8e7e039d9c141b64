#include <sstream>

#include <nlohmann/json.hpp>

#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/support/catch.h"

using wam::test::run_wamtrain;
using wam::test::Workplace;

TEST_CASE("plan: says what a run needs, within 80 columns, and leaves no trace") {
  const Workplace place;
  place.write_recipe();

  const auto done = run_wamtrain({"plan", "recipe.yaml"}, place.path());

  INFO(done.err);
  CHECK(done.exit_code == 0);
  for (const char* word : {"parameters", "2 blocks", "gradients, fp32", "recompute: none",
                           "recompute: full", "checkpoints:", "steps an epoch", "micro_batch: 2"}) {
    CHECK_THAT(done.out, Catch::Contains(word));
  }
  std::istringstream lines(done.out);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK((line.size() <= 80 || line.find("tokenizer:") != std::string::npos));
  }
  CHECK_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST_CASE("plan: --json holds the same figures, and they add up") {
  const Workplace place;
  place.write_recipe();

  const auto done = run_wamtrain({"plan", "recipe.yaml", "--json"}, place.path());

  REQUIRE(done.exit_code == 0);
  const auto plan = nlohmann::json::parse(done.out);
  std::int64_t parameters = 0;
  for (const auto& group : plan["units"]) parameters += group["parameters"].get<std::int64_t>();
  CHECK(plan["parameters"] == parameters);
  CHECK(plan["units"]["blocks"]["units"] == 2);
  CHECK(plan["optimizer_bytes"] >= 12 * parameters);  // master and two moments, padded
  CHECK(plan["memory_bytes"]["none"] > plan["memory_bytes"]["full"]);
  // One episode of 48 frames, K = 4 blocks of 8 actions, 33 pictures: the first anchor of a window
  // is at most frame 15.
  CHECK(plan["datasets"][0]["training_episodes"] == 1);
  const auto windows = plan["datasets"][0]["training_windows"].get<std::int64_t>();
  CHECK(windows > 0);
  CHECK(plan["steps_per_epoch"] == (windows + 3) / 4);
  CHECK(plan["micro_steps"] == 2);
}

TEST_CASE("plan: state in host memory is counted there, and must fit") {
  const Workplace place;
  place.write_recipe();
  const auto plan = [&](std::vector<std::string> overrides) {
    std::vector<std::string> arguments{"plan", "recipe.yaml"};
    for (const std::string& override : overrides) {
      arguments.insert(arguments.end(), {"--set", override});
    }
    return arguments;
  };
  const auto json_of = [&](std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return nlohmann::json::parse(run_wamtrain(arguments, place.path()).out);
  };
  const auto on_device = json_of(plan({}));
  const auto on_host = json_of(plan({"parallel.offload=optimizer"}));
  const auto state = on_device["optimizer_bytes"].get<std::int64_t>();
  CHECK(on_device["host_bytes"] == 0);
  CHECK(on_host["host_bytes"] == state);
  CHECK(on_host["memory_bytes"]["none"] ==
        on_device["memory_bytes"]["none"].get<std::int64_t>() - state);
  CHECK(on_host["checkpoint_bytes"] == state);

  const auto text = run_wamtrain(plan({"parallel.offload=optimizer"}), place.path());
  CHECK_THAT(text.out, Catch::Contains("\nhost memory\n  master weights and moments, fp32 "));

  const auto huge =
      run_wamtrain(plan({"parallel.offload=optimizer", "model.width=8192", "model.heads=64",
                         "model.feed_forward=32768", "model.layers=1000"}),
                   place.path());
  CHECK(huge.exit_code == 2);
  CHECK_THAT(huge.err,
             Catch::Contains("parallel.offload: optimizer keeps ") && Catch::Contains("Fix: "));
}

TEST_CASE("plan: the recipe it prints is a recipe") {
  const Workplace place;
  place.write_recipe();
  const auto first = run_wamtrain({"plan", "recipe.yaml", "--json"}, place.path());
  const auto text = nlohmann::json::parse(first.out)["recipe"].get<std::string>();
  place.write_text(text);

  const auto again = run_wamtrain({"plan", "recipe.yaml", "--json"}, place.path());

  CHECK(again.out == first.out);
}

TEST_CASE("plan: --gpus predicts every strategy, without the dataset") {
  const Workplace place;
  place.write_recipe("path: data", "path: none");

  const auto done = run_wamtrain({"plan", "recipe.yaml", "--gpus", "4", "--nodes", "2", "--link",
                                  "50", "--set", "precision.compute=bf16"},
                                 place.path());

  INFO(done.err);
  CHECK(done.exit_code == 0);
  for (const char* part : {"tiny-5b, recompute full, on 4 x NVIDIA H200", "2 nodes of 2, 50 GB/s",
                           "no_shard", "shard_grad_op", "full_shard", "hybrid_shard",
                           "fastest that fits", "Assumed, not measured"}) {
    CHECK_THAT(done.out, Catch::Contains(part));
  }
  CHECK_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST_CASE("plan: flags that contradict each other, and rates that are not there, end with 2") {
  const Workplace place;
  place.write_recipe();
  const auto refused = [&](std::vector<std::string> flags, const char* text) {
    flags.insert(flags.begin(), {"plan", "recipe.yaml"});
    const auto done = run_wamtrain(flags, place.path());
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Catch::Contains(text));
  };

  refused({"--gpus", "8", "--nodes", "3", "--link", "50"}, "do not lie evenly on 3 nodes. Fix: ");
  refused({"--gpus", "8", "--nodes", "2"}, "Fix: give --link");
  refused({"--nodes", "2"}, "Fix: give --gpus");
  refused({"--gpus", "2", "--rates", "none.yaml"}, "none.yaml");
}
