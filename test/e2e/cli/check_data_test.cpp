#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// check-data says before a run what the run would say.

namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;
using wam::test::run_wamtrain;
using wam::test::TinyRuns;
using wam::test::Workplace;

namespace {

fs::path video(const TinyRuns& runs, int episode) {
  return runs.path() /
         fmt::format("data/videos/chunk-000/observation.images.left/episode_{:06}.mp4", episode);
}

void cut(const fs::path& file) {
  fs::resize_file(file, fs::file_size(file) * 7 / 10);
}

}  // namespace

TEST_CASE("check-data: a sound dataset trains: text, JSON and page say so") {
  const TinyRuns runs;
  const auto done = runs.run({"check-data", "--dataset", "data", "--embodiment", "tiny", "--json",
                              "c.json", "--html", "c.html", "--threads", "3"});
  INFO(done.out);
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("data: LeRobot v2.1") && Contains("3 episodes of") &&
                           Contains("a sample takes") &&
                           Contains("Training would start and run through: 0 faults") &&
                           Contains("written: c.html"));
  const json report = json::parse(wam::read_file(runs.path() / "c.json"));
  CHECK(report.at("verdict") == "runs through");
  CHECK(report.at("datasets")[0].at("num_episodes") == 3);
  CHECK(report.at("datasets")[0].at("sample_cost").at("cores_per_gpu").at("5B") > 0);
  const auto page = wam::read_file(runs.path() / "c.html");
  CHECK_THAT(page, Contains("data:image/jpeg;base64,") && Contains("action.joint_position[2]"));
  CHECK(page.find("http") == std::string::npos);
}

TEST_CASE("check-data: of a recipe it leaves with the code that training leaves with") {
  const TinyRuns runs(wam::test::Size::kSmall, 4);
  cut(video(runs, 2));
  const TinyRuns::Overrides short_run = {"train.steps=30", "data.validation=0"};
  for (const std::string policy : {"fail", "skip"}) {
    auto overrides = short_run;
    overrides.push_back("data.on_bad_sample=" + policy);
    const auto checked = runs.run(runs.arguments("check-data", policy, overrides));
    INFO(checked.out);
    INFO(checked.err);
    CHECK(checked.exit_code == (policy == "fail" ? 2 : 0));
    CHECK_THAT(checked.out, Contains("unreadable video: bad samples") &&
                                Contains("episode_000002.mp4, episode 2") &&
                                Contains("data.on_bad_sample: " + policy));
    CHECK(runs.train(policy, overrides).exit_code == checked.exit_code);
  }
}

TEST_CASE("check-data: what keeps a run from starting is told with the place, in quick mode too") {
  const TinyRuns runs(wam::test::Size::kSmall, 4);
  fs::remove(runs.path() / "data/data/chunk-000/episode_000001.parquet");
  auto arguments = runs.arguments("check-data", "run", {});
  arguments.insert(arguments.end(), {"--quick", "--json", "c.json"});
  const auto checked = runs.run(arguments);
  INFO(checked.out);
  CHECK(checked.exit_code == 2);
  CHECK_THAT(checked.out, Contains("table: training does not start") &&
                              Contains("data/chunk-000/episode_000001.parquet, episode 1") &&
                              Contains("no picture was decoded"));
  const json report = json::parse(wam::read_file(runs.path() / "c.json"));
  CHECK(report.at("datasets")[0].at("faults")[0].at("effect") == "start");
  CHECK(runs.train("run", {}).exit_code == 2);
  CHECK_FALSE(fs::exists(runs.path() / "run/checkpoints"));
}

TEST_CASE("check-data: what recipe and dataset get wrong together is a fault as well") {
  const TinyRuns runs;
  const auto checked = runs.run(runs.arguments("check-data", "run", {"data.validation=3"}));
  INFO(checked.out);
  CHECK(checked.exit_code == 2);
  CHECK_THAT(checked.out, Contains("start of training: training does not start") &&
                              Contains("3 of 3 episodes with a window"));
}

TEST_CASE("check-data: a table without the action column is told with the columns that exist") {
  const Workplace place;
  fs::remove_all(place.path() / "data");
  wam::test::write_dataset(place.path() / "data", false);
  place.write_recipe();
  const auto checked = run_wamtrain({"check-data", "recipe.yaml"}, place.path());
  INFO(checked.out);
  CHECK(checked.exit_code == 2);
  CHECK_THAT(checked.out, Contains("columns: training does not start") && Contains("'action'") &&
                              Contains("observation.state") && Contains("Fix: "));
}

TEST_CASE("check-data: what cannot be done is refused with the fix") {
  const Workplace place;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& expected) {
    std::vector<std::string> command = {"check-data"};
    command.insert(command.end(), more.begin(), more.end());
    const auto done = run_wamtrain(command, place.path());
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Contains(expected) && Contains("Fix: "));
  };
  refused({}, "neither a recipe nor a dataset");
  refused({"--dataset", "data"}, "no --embodiment");
  refused({"--embodiment", "tiny"}, "--dataset");
  refused({"--dataset", "data", "--embodiment", "tinny"}, "tinny");
  refused({"--dataset", "data", "--embodiment", "tiny", "--threads", "-1"}, "--threads");
  refused({"--dataset", "data", "--embodiment", "tiny", "--html", "none/c.html"},
          "there is no folder");
  refused({"--dataset", "data", "--embodiment", "tiny", "--set", "run.seed=1"}, "--set");
  refused({"none.yaml"}, "none.yaml");
}
