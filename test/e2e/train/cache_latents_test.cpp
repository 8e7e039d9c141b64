#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "test/e2e/support/program.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// `wamtrain cache --what latents`, and runs that train on what it has made.

namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;
using wam::test::file_content;
using wam::test::folder_content;
using wam::test::Outcome;
using wam::test::Program;
using wam::test::TinyRuns;
using Overrides = TinyRuns::Overrides;

namespace {

Overrides with(Overrides base, const Overrides& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

std::vector<std::string> cache_arguments(const TinyRuns& runs,
                                         const Overrides& overrides,
                                         const std::vector<std::string>& more = {}) {
  auto arguments = runs.arguments("cache", "building", overrides);
  arguments.insert(arguments.end(), {"--what", "latents"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome must_cache(const TinyRuns& runs, const Overrides& overrides, int ranks = 1) {
  auto done = runs.run(cache_arguments(runs, overrides), ranks);
  INFO(done.out << done.err);
  REQUIRE(done.exit_code == 0);
  return done;
}

// Of every validation, what does not depend on time.
std::vector<json> validations(const TinyRuns& runs, const std::string& run) {
  std::vector<json> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto value = json::parse(line);
    if (!value.contains("validation")) continue;
    value["validation"].erase("seconds");
    out.push_back(value["validation"]);
  }
  return out;
}

// Files of latents that are whole.
std::size_t num_shards(const fs::path& folder) {
  std::size_t count = 0;
  if (!fs::exists(folder)) return 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().extension() == ".safetensors" ? 1U : 0U;
  }
  return count;
}

const Overrides kOnce{"data.augmentations=1", "data.latent_cache=latents"};
const Overrides kCached{"data.latents=cached"};

}  // namespace

TEST_CASE("cache latents: a run trains and validates on them with the bits of live encoders") {
  const TinyRuns runs;
  const Overrides steps{"train.steps=4",          "data.validation=1",
                        "validate.every=2",       "validate.windows=5",
                        "validate.shuffled=true", "validate.sampling_steps=2"};
  for (const auto& [preset, compute] :
       {std::pair("tiny-5b", "bf16"), std::pair("tiny-14b", "fp32")}) {
    const std::string name = preset;
    const auto base = with(
        steps, {std::string("model.preset=") + preset, std::string("precision.compute=") + compute,
                "data.augmentations=2", "data.latent_cache=of_" + name});
    must_cache(runs, base);

    runs.must_train("live_" + name, base);
    const auto done = runs.must_train("cached_" + name, with(base, kCached));

    INFO(name);
    CHECK_THAT(done.out, !Contains("VAE: ") && !Contains("CLIP image tower: "));
    CHECK(runs.losses("cached_" + name) == runs.losses("live_" + name));
    CHECK(runs.losses("live_" + name).size() == 4);
    CHECK(runs.state("cached_" + name, 4) == runs.state("live_" + name, 4));
    CHECK(validations(runs, "cached_" + name) == validations(runs, "live_" + name));
    CHECK(validations(runs, "live_" + name).size() == 2);
  }
}

TEST_CASE("cache latents: no video is opened in training, which may stop and go on") {
  const TinyRuns runs;
  const auto base = with(kOnce, {"train.steps=4", "checkpoint.every=2", "train.schedule=constant"});
  must_cache(runs, base);
  runs.must_train("live", base);
  // As long as before, since the cache knows their sizes; the first ones are looked at, at the
  // start.
  for (int episode = 1; episode < 3; ++episode) {
    for (const char* view : {"left", "right", "wrist"}) {
      const auto file = runs.path() / "data/videos/chunk-000" /
                        (std::string("observation.images.") + view) /
                        ("episode_00000" + std::to_string(episode) + ".mp4");
      const auto size = fs::file_size(file);
      std::ofstream(file, std::ios::trunc) << "";
      fs::resize_file(file, size);
    }
  }

  runs.must_train("cached", with(base, with(kCached, {"train.steps=2"})));
  runs.must_train("cached", with(base, kCached));

  CHECK(runs.losses("cached") == runs.losses("live"));
  CHECK(runs.state("cached", 4) == runs.state("live", 4));
}

TEST_CASE("cache latents: several datasets, partial windows, and two ranks that encode and train") {
  if (!wam::test::has_mpirun()) return;
  const TinyRuns runs(wam::test::Size::kSmall, 2);
  runs.write_dataset("more", 1, 7);
  const Overrides base{
      "data.datasets=[{path: data, embodiment: tiny}, {path: more, embodiment: tiny, weight: 2}]",
      "model.blocks=2",
      "data.sampling=multi_anchor_partial",
      "train.micro_batch=1",
      "train.steps=3",
      "data.validation=0",
      "data.augmentations=2"};
  const auto of = [&](const std::string& folder) {
    return with(base, {"data.latent_cache=" + folder});
  };

  must_cache(runs, of("alone"));
  must_cache(runs, of("together"), 2);
  CHECK(folder_content(runs.path() / "alone") == folder_content(runs.path() / "together"));
  CHECK(fs::exists(runs.path() / "together/data_tiny/manifest.json"));
  CHECK(fs::exists(runs.path() / "together/more_tiny/manifest.json"));

  runs.must_train("live", of("together"), 2);
  runs.must_train("cached", with(of("together"), kCached), 2);
  CHECK(runs.losses("cached") == runs.losses("live"));
  CHECK(runs.losses("live").size() == 3);
}

TEST_CASE("cache latents: a build that is killed or stopped goes on to the same bytes") {
  const TinyRuns runs;
  const auto base = with(kOnce, {"data.augmentations=3"});
  const auto of = [&](const std::string& folder) {
    return with(base, {"data.latent_cache=" + folder});
  };
  const auto whole = must_cache(runs, of("whole"));
  const fs::path folder = runs.path() / "parts/data_tiny";
  const auto total = num_shards(runs.path() / "whole/data_tiny");
  for (const int number : {SIGKILL, SIGTERM}) {
    const auto before = num_shards(folder);
    Program build(cache_arguments(runs, of("parts")), runs.path());
    while (build.is_running() && num_shards(folder) < before + 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    build.signal(number);
    const auto done = build.wait();
    INFO(done.out << done.err);
    CHECK(done.exit_code == (number == SIGKILL ? -SIGKILL : 0));
    REQUIRE(num_shards(folder) < total);
    if (number == SIGTERM) CHECK_THAT(done.out, Contains("the same command goes on"));
    const auto refused = runs.train("early", with(of("parts"), kCached));
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Contains("is not finished") && Contains("Fix: wamtrain cache RECIPE"));
  }

  const auto rest = must_cache(runs, of("parts"));

  CHECK_THAT(whole.out, Contains("are to be encoded, ") && Contains("latents: all are in whole"));
  CHECK_THAT(rest.out, Contains("latents: all are in parts"));
  auto found = folder_content(runs.path() / "parts");
  std::erase_if(found, [](const auto& file) { return file.first.ends_with(".tmp"); });
  CHECK(found == folder_content(runs.path() / "whole"));
}

TEST_CASE("cache latents: what they are of is compared, named, and encoded anew on request") {
  const TinyRuns runs;
  must_cache(runs, kOnce);
  const auto cropped = [&](const Overrides& more) { return with(with(kOnce, kCached), more); };
  const auto before = folder_content(runs.path() / "latents");

  // Neither statistics, nor the split, nor the seed of the order has a part in them.
  const Overrides harmless{"data.validation=1", "train.steps=1", "data.statistics=compute",
                           "data.range_floor=0.01"};
  runs.must_train("harmless", cropped(harmless));
  const auto two = runs.train("two", cropped({"data.augmentations=2"}));
  CHECK(two.exit_code == 2);
  CHECK_THAT(two.err, Contains("latents.pictures.augmentations: cache 1, recipe 2") &&
                          Contains("--rebuild"));
  // Weights that are drawn follow the seed of the run.
  const auto seeds = cropped({"run.seed=9"});
  const auto other = runs.train("seed", seeds);
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("latents.vae: cache \"xxh3 ") &&
                            Contains("latents.image_encoder: cache \"xxh3 ") &&
                            !Contains("latents.pictures"));
  CHECK_FALSE(fs::exists(runs.path() / "seed/recipe.yaml"));
  const auto refused = runs.run(cache_arguments(runs, seeds));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("latents.vae: cache"));
  CHECK(folder_content(runs.path() / "latents") == before);

  const auto rebuilt = runs.run(cache_arguments(runs, seeds, {"--rebuild"}));

  INFO(rebuilt.err);
  REQUIRE(rebuilt.exit_code == 0);
  runs.must_train("seed", with(seeds, {"train.steps=1"}));
  CHECK(runs.train("old", cropped({})).exit_code == 2);
}

TEST_CASE("cache latents: pictures that are drawn anew each time are refused with the fix") {
  const TinyRuns runs;
  const auto built = runs.run(cache_arguments(runs, {"data.latent_cache=latents"}));
  CHECK(built.exit_code == 2);
  CHECK_THAT(built.err,
             Contains("data.augmentations is 0") && Contains("Fix: data.augmentations: 1"));
  const auto trained = runs.train("run", kCached);
  CHECK(trained.exit_code == 2);
  CHECK_THAT(trained.err,
             Contains("data.latents: cached, but data.augmentations is 0") && Contains("Fix: "));
  const auto absent = runs.train("run", with(kOnce, kCached));
  CHECK(absent.exit_code == 2);
  CHECK_THAT(absent.err, Contains("there is no latent cache in latents/data_tiny"));
}

TEST_CASE("cache latents: bad windows are left out by the policy, alike in live and cached runs") {
  const TinyRuns runs(wam::test::Size::kSmall, 4);
  const auto file =
      runs.path() / "data/videos/chunk-000/observation.images.left/episode_000002.mp4";
  fs::resize_file(file, fs::file_size(file) * 7 / 10);
  const auto failed = runs.run(cache_arguments(runs, kOnce));
  CHECK(failed.exit_code == 2);
  CHECK_THAT(failed.err, Contains("episode_000002.mp4") && Contains("data.on_bad_sample: skip"));

  const auto skip = with(kOnce, {"data.on_bad_sample=skip", "train.steps=6"});
  CHECK_THAT(must_cache(runs, skip).out, Contains("a clip is left out: "));
  runs.must_train("live", skip);
  runs.must_train("cached", with(skip, kCached));

  CHECK(runs.losses("cached") == runs.losses("live"));
  const auto strict = runs.train("strict", with(kOnce, with(kCached, {"train.steps=20"})));
  CHECK(strict.exit_code == 2);
  CHECK_THAT(strict.err, Contains("episode_000002.mp4"));
}

TEST_CASE("cache latents: a damaged file is named in training, and mended by a build") {
  const TinyRuns runs;
  must_cache(runs, kOnce);
  const auto before = folder_content(runs.path() / "latents");
  for (const auto& [name, content] : before) {
    if (name.ends_with(".safetensors")) wam::test::damage(runs.path() / "latents" / name);
  }

  const auto done = runs.train("run", with(kOnce, with(kCached, {"train.steps=60"})));
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err,
             Contains("does not have the hash") && Contains("Fix: wamtrain cache RECIPE"));

  CHECK_THAT(must_cache(runs, kOnce).out, Contains("is damaged"));
  auto after = folder_content(runs.path() / "latents");
  std::erase_if(after, [](const auto& file) { return file.first.ends_with(".corrupt"); });
  CHECK(after == before);
}

TEST_CASE("cache latents: plans and benchmarks know that no encoder is loaded") {
  const TinyRuns runs;
  const auto plan = [&](const Overrides& overrides) {
    auto arguments = runs.arguments("plan", "run", overrides);
    arguments.emplace_back("--json");
    const auto done = runs.run(arguments);
    INFO(done.err);
    REQUIRE(done.exit_code == 0);
    return json::parse(done.out);
  };
  const auto live = plan(kOnce);
  const auto cached = plan(with(kOnce, kCached));
  CHECK(live["encoder_bytes"] > 0);
  CHECK(cached["encoder_bytes"] == 0);
  CHECK(live["memory_bytes"]["none"].get<std::int64_t>() -
            cached["memory_bytes"]["none"].get<std::int64_t>() ==
        live["encoder_bytes"].get<std::int64_t>());

  must_cache(runs, kOnce);
  for (const std::string what : {"loop", "data", "step"}) {
    auto arguments = runs.arguments("bench", "run", with(kOnce, kCached));
    arguments.insert(arguments.end(), {"--what", what, "--steps", "2", "--ceiling-seconds", "0"});
    const auto done = runs.run(arguments);
    INFO(what << done.err);
    REQUIRE(done.exit_code == 0);
    CHECK_THAT(done.out, !Contains("VAE: ") && !Contains("CLIP image tower: "));
  }
}
