#include <filesystem>

#include <fmt/core.h>

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
