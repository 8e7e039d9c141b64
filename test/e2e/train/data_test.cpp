#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Files of a dataset that turn out bad while training.

namespace fs = std::filesystem;
using wam::test::TinyRuns;

namespace {

std::string video(int episode) {
  return fmt::format("videos/chunk-000/observation.images.left/episode_{:06}.mp4", episode);
}

// The episode that the end of a message is about.
bool names(const std::string& message, int episode) {
  return message.find(video(episode)) != std::string::npos &&
         message.find(fmt::format("episode {}", episode)) != std::string::npos;
}

// Per step of the run what was replaced in it.
std::vector<nlohmann::json> bad_samples(const TinyRuns& runs, const std::string& run) {
  std::vector<nlohmann::json> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    out.push_back(json.value("bad_samples", nlohmann::json::array()));
  }
  return out;
}

}  // namespace

TEST_CASE("data: a truncated video is an error that names episode and file") {
  const TinyRuns runs;
  for (int episode = 0; episode < 3; ++episode) {
    const auto file = runs.path() / "data" / video(episode);
    fs::resize_file(file, fs::file_size(file) / 2);
  }
  for (const char* workers : {"0", "2"}) {
    const auto done = runs.train(workers, {std::string("data.workers=") + workers});

    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK((names(done.err, 0) || names(done.err, 1) || names(done.err, 2)));
    CHECK_THAT(done.err, Catch::Contains("Fix: "));
  }
}

TEST_CASE("data: a truncated video is noticed when it is first touched") {
  const TinyRuns runs(wam::test::Size::kSmall, 8);
  const auto file = runs.path() / "data" / video(3);
  fs::resize_file(file, fs::file_size(file) / 2);

  const auto done =
      runs.train("run", {"train.steps=100", "train.global_batch=1", "train.micro_batch=1",
                         "checkpoint.every=1", "data.validation=0"});

  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(names(done.err, 3));
  // One sample a step; seven in eight are of whole episodes.
  const auto steps = runs.losses("run").size();
  CHECK(steps > 0);
  CHECK(fs::exists(runs.checkpoint("run", static_cast<std::int64_t>(steps)) / "manifest.json"));
}

TEST_CASE("data: with data.on_bad_sample: skip a bad video costs its windows, and no more") {
  const TinyRuns runs(wam::test::Size::kSmall, 5);
  const auto file = runs.path() / "data" / video(3);
  const std::string fault = GENERATE("cut off", "empty", "no video", "too short");
  INFO(fault);
  if (fault == "cut off") fs::resize_file(file, fs::file_size(file) * 7 / 10);
  if (fault == "empty") fs::resize_file(file, 0);
  if (fault == "no video") std::ofstream(file) << "a note under a wrong extension";
  if (fault == "too short") {  // 45 frames for 56 rows: the times of some lie beyond it
    fs::copy_file(runs.path() / "data" / video(0), file, fs::copy_options::overwrite_existing);
  }
  const auto options = [](int steps, const char* workers) {
    return TinyRuns::Overrides{fmt::format("train.steps={}", steps),
                               fmt::format("data.workers={}", workers), "data.on_bad_sample=skip",
                               "checkpoint.every=4", "train.schedule=constant"};
  };

  runs.must_train("whole", options(8, "0"));
  runs.must_train("halves", options(4, "3"));
  runs.must_train("halves", options(8, "3"));
  runs.must_train("ranks", options(8, "2"), 2);

  const auto expected = bad_samples(runs, "whole");
  REQUIRE(expected.size() == 8);
  std::set<std::string> windows;
  for (const auto& line : expected) {
    for (const std::string name : line) {
      CHECK(name.starts_with("0/3/"));
      windows.insert(name);
    }
  }
  REQUIRE(windows.size() > 1);
  CHECK(bad_samples(runs, "halves") == expected);
  CHECK(bad_samples(runs, "ranks") == expected);
  CHECK(runs.losses("halves") == runs.losses("whole"));
  for (const char* run : {"whole", "halves", "ranks"}) {
    const auto manifest =
        nlohmann::json::parse(wam::test::file_content(runs.checkpoint(run, 8) / "manifest.json"));
    CHECK(manifest["data"]["bad_windows"] == nlohmann::json(windows));
  }
  CHECK_THAT(wam::test::file_content(runs.path() / "whole" / "log.txt"),
             Catch::Contains("is replaced: LeRobot dataset") && Catch::Contains(video(3)));

  const auto limit = windows.size() - 1;
  auto strict = options(8, "1");
  strict.push_back(fmt::format("data.max_bad_samples={}", limit));
  const auto done = runs.train("strict", strict);
  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains(fmt::format("data.max_bad_samples is {}. Fix: ", limit)));
}

TEST_CASE("data: a video that is missing is no bad sample") {
  const TinyRuns runs;
  const auto options = TinyRuns::Overrides{"data.on_bad_sample=skip", "train.steps=1000"};
  for (int episode = 1; episode < 3; ++episode) {
    // Not to be read, as it seems to everybody but the fingerprint.
    fs::remove(runs.path() / "data" / video(episode));
    fs::create_directory(runs.path() / "data" / video(episode));
  }

  const auto done = runs.train("run", options);

  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK((names(done.err, 1) || names(done.err, 2)));
  CHECK_THAT(done.err, Catch::Contains("The same 3 times") && Catch::Contains("Fix: "));
}

TEST_CASE("data: a set in v3.0 trains as the same set in v2.1 does") {
  const TinyRuns runs;
  const auto sample = [&](const char* layout) {
    return runs.run({"sample", "--out", "shared", "--episodes", "3", "--layout", layout,
                     "--pictures", "images"});
  };
  CHECK(runs.run({"sample", "--out", "single", "--episodes", "3", "--pictures", "images"})
            .exit_code == 0);
  CHECK(sample("v3.0").exit_code == 0);
  const auto refused = sample("v4");
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("sample --layout: found v4, expected one of v2.1, v3.0"));

  for (const char* set : {"single", "shared"}) {
    runs.must_train(set + std::string("_run"),
                    {"train.steps=3", "data.index_cache=indices",
                     fmt::format("data.datasets=[{{path: {}, embodiment: tiny}}]", set)});
  }

  REQUIRE(runs.losses("single_run").size() == 3);
  CHECK(runs.losses("single_run") == runs.losses("shared_run"));
  CHECK(wam::test::folder_content(runs.path() / "indices").size() == 2);
}

TEST_CASE("data: windows of fewer blocks train one by one, and whole ones are validated") {
  const TinyRuns runs;
  const TinyRuns::Overrides partial = {"data.sampling=multi_anchor_partial",
                                       "model.blocks=6",
                                       "train.micro_batch=1",
                                       "train.steps=2",
                                       "data.validation=1",
                                       "validate.every=2",
                                       "validate.windows=2"};
  runs.must_train("partial", partial);
  CHECK(runs.losses("partial").size() == 2);
  CHECK(fs::exists(runs.path() / "partial/validation/step_00000002.json"));

  auto stacked = partial;
  stacked[2] = "train.micro_batch=2";
  const auto refused = runs.train("stacked", stacked);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("train.micro_batch: 2") && Catch::Contains("Fix: "));
}

TEST_CASE("data: fixed windows train, and so does a part of the episodes, which the log names") {
  const TinyRuns runs;
  runs.must_train("fixed", {"data.sampling=fixed_window", "train.steps=2"});
  CHECK(runs.losses("fixed").size() == 2);

  const auto done = runs.must_train(
      "part",
      {"train.steps=1", "data.datasets=[{path: data, embodiment: tiny, episodes: [\"1:\"]}]"});
  CHECK_THAT(done.err + done.out,
             Catch::Contains("1 of 3 episodes are left out by episodes: [1:]"));
  const auto none =
      runs.train("none", {"data.datasets=[{path: data, embodiment: tiny, episodes: [\"7:\"]}]"});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Catch::Contains("7: names no episode") && Catch::Contains("0 to 2"));
}

TEST_CASE("data: a dataset that has changed since the checkpoint is refused, with what changed") {
  const TinyRuns runs;
  const TinyRuns::Overrides options{"train.steps=2"};
  runs.must_train("run", options);
  const auto check_refused = [&](const std::string& what) {
    const auto done = runs.train("run", {"train.steps=4"});
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Catch::Contains("data.datasets.0." + what + ": checkpoint \"xxh3 ") &&
                             Catch::Contains("Fix: "));
    CHECK(runs.losses("run").size() == 2);
  };

  const auto tasks = runs.path() / "data/meta/tasks.jsonl";
  const std::string texts = wam::test::file_content(tasks);
  const auto at = texts.find("reach");
  REQUIRE(at != std::string::npos);
  std::ofstream(tasks) << std::string(texts).replace(at, 5, "grasp");
  check_refused("instruction_texts");
  std::ofstream(tasks) << texts;

  // A video of another length behind the same list.
  const auto file = runs.path() / "data" / video(1);
  const std::string bytes = wam::test::file_content(file);
  std::ofstream(file, std::ios::app) << "more";
  check_refused("files");
  std::ofstream(file, std::ios::binary) << bytes;

  runs.must_train("run", {"train.steps=4"});
}
