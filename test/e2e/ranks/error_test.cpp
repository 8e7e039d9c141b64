// What is wrong with a start, or with one rank, is said once and ends all ranks.

#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"

namespace fs = std::filesystem;
using Catch::Contains;
using wam::test::count;
using wam::test::RankRun;
using wam::test::TinyRuns;

namespace {

// The first episode's are looked at before a run, by every process for itself.
void cut_videos_in_half(const fs::path& folder) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool is_video = entry.path().extension() == ".mp4";
    if (!is_video || entry.path().stem() == "episode_000000") continue;
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
    ++files;
  }
  REQUIRE(files > 0);
}

}  // namespace

TEST_CASE("ranks: a damaged file that one rank reads ends all with its message and exit code") {
  const TinyRuns runs;
  // Rank 1 is on a host of its own, whose copy of the videos is cut short.
  const fs::path other = runs.path() / "other_host";
  fs::create_directories(other);
  fs::copy(runs.path() / "data", other / "data", fs::copy_options::recursive);
  cut_videos_in_half(other / "data");
  const auto shared = [&](const std::string& key, const std::string& name) {
    return key + "=" + (runs.path() / name).string();
  };

  RankRun start(runs, "run", {{runs.path(), {}, {}}, {other, {}, {}}, {runs.path(), {}, {}}},
                {"train.steps=1000", "run.timeout_s=20", shared("run.dir", "run"),
                 shared("data.text_cache", "text")});

  const auto codes = start.wait();
  const std::string all = start.outputs();
  INFO(all);
  CHECK(codes == std::vector<int>{2, 2, 2});
  CHECK_THAT(start.output(1), Contains("episode_00000") && Contains(".mp4"));
  CHECK(count(all, ".mp4") == 1);
  for (const int rank : {0, 2}) {
    CHECK_THAT(start.output(rank), Contains(fmt::format("rank {} of 3 leaves", rank)) &&
                                       Contains("rank 1 (") && Contains("ended with an error"));
  }
}

TEST_CASE("ranks: a group of shards that does not divide them is said once") {
  const TinyRuns runs;

  RankRun start(runs, "run", 3, {"parallel.strategy=hybrid_shard", "parallel.shard_size=2"});

  const auto codes = start.wait();
  const std::string all = start.outputs();
  INFO(all);
  CHECK(codes == std::vector<int>{2, 2, 2});
  CHECK(count(all, "parallel.shard_size: 2 ranks in a group, but 3 ranks do not divide") == 1);
  CHECK(count(all, "Fix: set a number that divides 3") == 1);
}

TEST_CASE("ranks: what is wrong with a recipe is said once, and leaves no trace") {
  const TinyRuns runs;

  RankRun start(runs, "run", 3, {"train.stepz=3", "train.micro_batch=0"});

  const auto codes = start.wait();
  const std::string all = start.outputs();
  INFO(all);
  CHECK(codes == std::vector<int>{2, 2, 2});
  CHECK(count(all, "train.stepz: unknown key") == 1);
  CHECK(count(all, "train.micro_batch: found 0") == 1);
  CHECK(count(all, "wamtrain: ") == 1);
  CHECK_FALSE(fs::exists(runs.path() / "run"));
}

TEST_CASE("ranks: a dataset that one rank does not find is said by it, and ends the others") {
  const TinyRuns runs;
  const fs::path other = runs.path() / "other_host";
  fs::create_directories(other);

  RankRun start(runs, "run", {{runs.path(), {}, {}}, {other, {}, {}}, {runs.path(), {}, {}}},
                {"run.timeout_s=20"});

  const auto codes = start.wait();
  INFO(start.outputs());
  CHECK(codes == std::vector<int>{2, 2, 2});
  CHECK(count(start.outputs(), "there is no folder data") == 1);
  CHECK_THAT(start.output(1), Contains("data.datasets.0.path: there is no folder data"));
  for (const int rank : {0, 2}) {
    CHECK_THAT(start.output(rank), Contains("rank 1 (") && Contains("ended with an error"));
  }
}

TEST_CASE("ranks: a recipe that is not there is said once under mpirun") {
  if (!wam::test::has_mpirun()) return;
  const TinyRuns runs;

  const auto done = runs.run({"train", "nothing.yaml"}, 3);

  INFO(done.err);
  CHECK(done.exit_code == 2);
  CHECK(count(done.err, "cannot read the recipe nothing.yaml") == 1);
  CHECK(count(done.err, "wamtrain: ") == 1);
  CHECK_THAT(done.err, !Contains("run.dir"));  // which is not what is wrong
}

TEST_CASE("ranks: a run that blew up stops on all, and names the samples of all") {
  const TinyRuns runs;

  RankRun start(runs, "run", 3,
                {"train.steps=20", "train.learning_rate=1.0e+30", "train.warmup=0",
                 "train.max_nonfinite=2", "parallel.strategy=full_shard"});

  const auto codes = start.wait();
  INFO(start.outputs());
  CHECK(codes == std::vector<int>{1, 1, 1});
  CHECK(count(start.outputs(), "2 updates in a row were not finite, the last at step 3") == 1);
  std::ifstream in(runs.path() / "run" / "metrics.jsonl");
  std::string line;
  for (std::string next; std::getline(in, next);) line = next;
  CHECK(nlohmann::json::parse(line)["samples"].size() == 4);  // the global batch
}

TEST_CASE("ranks: launchers that contradict each other are named with their variables") {
  const TinyRuns runs;
  auto variables = wam::test::by_torchrun(0, 2, "29999");
  variables["OMPI_COMM_WORLD_RANK"] = "1";
  variables["OMPI_COMM_WORLD_SIZE"] = "2";
  std::vector<std::string> words{"/usr/bin/env", "-C", runs.path().string(), WAM_PROGRAM};
  const auto arguments = runs.arguments("train", "run", {});
  words.insert(words.end(), arguments.begin(), arguments.end());

  wam::test::RankProcess rank(words, variables, runs.path() / "output");

  CHECK(rank.wait() == 2);
  CHECK_THAT(rank.output(),
             Contains("two launchers contradict each other") && Contains("RANK=0, WORLD_SIZE=2") &&
                 Contains("OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2") && Contains("Fix: "));
}
