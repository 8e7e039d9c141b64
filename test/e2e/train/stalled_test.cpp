#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// File systems that do not answer.

namespace fs = std::filesystem;
using nlohmann::json;
using wam::test::TinyRuns;

namespace {

std::string video(int episode) {
  return fmt::format("videos/chunk-000/observation.images.left/episode_{:06}.mp4", episode);
}

// Opening the file waits for a writer, for ever.
void hold_back(const TinyRuns& runs, const std::string& file) {
  const auto path = runs.path() / "data" / file;
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
}

// Trains with a time limit of 6 s, after which the run must end with 3.
std::string stalled(const TinyRuns& runs, TinyRuns::Overrides overrides, int ranks) {
  overrides.insert(overrides.end(), {"run.timeout_s=6", "train.steps=1000"});
  const auto begin = std::chrono::steady_clock::now();
  const auto done = runs.train("run", overrides, ranks);
  INFO(done.err);
  CHECK(done.exit_code == 3);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  CHECK_THAT(done.err, Catch::Contains("waiting for data: ") &&
                           Catch::Contains("is being read for") && Catch::Contains("Fix: "));
  return done.out + done.err;
}

}  // namespace

TEST_CASE("stalled: a sample whose file does not answer is named, and the run ends") {
  const TinyRuns runs;
  for (int episode = 1; episode < 3; ++episode) hold_back(runs, video(episode));
  const auto [workers, ranks] =
      GENERATE(std::pair{"0", 1}, std::pair{"1", 1}, std::pair{"3", 1}, std::pair{"1", 2});
  INFO(workers << " workers, " << ranks << " ranks");

  const std::string said = stalled(runs, {fmt::format("data.workers={}", workers)}, ranks);

  CHECK_THAT(said, Catch::Contains("waiting for data: sample ") &&
                       (Catch::Contains(video(1)) || Catch::Contains(video(2))));
}

TEST_CASE("stalled: a dataset's lists and tables that do not answer are named at the start") {
  const auto [file, ranks] = GENERATE(
      std::pair{"meta/info.json", 1}, std::pair{"meta/info.json", 2},
      std::pair{"meta/episodes.jsonl", 1}, std::pair{"data/chunk-000/episode_000002.parquet", 1},
      std::pair{"data/chunk-000/episode_000002.parquet", 2});
  INFO(file << ", " << ranks << " ranks");
  const TinyRuns runs;
  hold_back(runs, file);

  const std::string said = stalled(runs, {}, ranks);

  CHECK_THAT(said, Catch::Contains(std::string("data/") + file + " is being read for"));
}

TEST_CASE("stalled: a window of validation that does not answer is named") {
  const TinyRuns runs(wam::test::Size::kSmall, 4);
  const TinyRuns::Overrides validated = {"data.validation=1", "validate.every=1",
                                         "validate.windows=2"};
  auto first = validated;
  first.emplace_back("train.steps=1");
  runs.must_train("first", first);
  const auto seen =
      json::parse(wam::test::file_content(runs.path() / "first/validation/step_00000001.json"));
  const auto episode = seen.at("windows").at(0).at("id").at("episode").get<int>();
  hold_back(runs, video(episode));
  const int ranks = GENERATE(1, 2);
  INFO(ranks << " ranks");

  CHECK_THAT(stalled(runs, validated, ranks), Catch::Contains(video(episode)));
}
