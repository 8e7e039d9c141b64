#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/io/atomic_file.h"
#include "data/lerobot_writer/writer.h"
#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/support/arm_format.h"
#include "test/support/catch.h"

using Catch::Contains;
using nlohmann::json;
using wam::test::run_wamtrain;
using wam::test::TempFolder;
using wam::test::Workplace;

namespace {

// Two episodes of an arm whose first action value is constant, whose second lies within 1e-4 and
// whose third has `spike` in frame 20 of episode 1.
void write_odd_set(const std::filesystem::path& root, float spike) {
  using namespace wam::lerobot_writer;
  constexpr std::size_t kFrames = 120;
  Writer writer(root, wam::test::arm_format());
  for (const std::size_t episode : {0U, 1U}) {
    Recording recording;
    recording.task = "reach";
    recording.frames = kFrames;
    recording.pictures_THWC.assign(3, std::vector<std::uint8_t>(kFrames * 32 * 64 * 3, 100));
    std::vector<float> state;
    std::vector<float> action;
    for (std::size_t i = 0; i < kFrames; ++i) {
      const float wave = std::sin(static_cast<float>(i) / 9);
      state.insert(state.end(), {wave, 2 * wave, 3 * wave});
      const bool is_spike = episode == 1 && i == 20;
      action.insert(action.end(), {0.04F, 0.7F + 5e-5F * wave, is_spike ? spike : wave});
    }
    recording.vectors = {state, action};
    writer.add(recording);
  }
  writer.finish();
}

// The record "tiny" with absolute actions.
void write_absolute_record(const std::filesystem::path& file) {
  std::string text = wam::read_file(std::string(WAM_SOURCE_DIR) + "/configs/embodiment/tiny.yaml");
  const std::string relative = "relative_action_keys: [joint_position]";
  const auto at = text.find(relative);
  REQUIRE(at != std::string::npos);
  std::ofstream(file) << text.replace(at, relative.size(), "relative_action_keys: []");
}

}  // namespace

TEST_CASE("stats: writes what a run computes, which a recipe takes by its path") {
  const Workplace place;
  const auto done =
      run_wamtrain({"stats", "data", "--embodiment", "tiny", "--out", "m.json"}, place.path());
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("1 episodes, 48 rows") && Contains("action.joint_position[2]"));
  const auto text = wam::read_file(place.path() / "m.json");

  for (const char* source : {"compute", "m.json"}) {
    place.write_recipe("data:\n", std::string("data:\n  statistics: ") + source + "\n");
    const auto trained = run_wamtrain(
        {"train", "recipe.yaml", "--set", std::string("run.dir=run_") + source}, place.path());
    INFO(trained.err);
    REQUIRE(trained.exit_code == 0);
    const auto folder = place.path() / (std::string("run_") + source);
    CHECK(wam::read_file(folder / "metadata.json") == text);
  }
}

TEST_CASE("stats: constant, near-constant and outlying dimensions are listed, a floor widens") {
  const Workplace folder;
  write_odd_set(folder.path() / "odd", 1e6F);
  write_absolute_record(folder.path() / "arm.yaml");
  const std::vector<std::string> command = {"stats", "odd",    "--embodiment", "arm.yaml",
                                            "--out", "m.json", "--threads",    "3"};
  const auto done = run_wamtrain(command, folder.path());
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.out,
             Contains("action.joint_position[0]: constant: every value is 0.04") &&
                 Contains("action.joint_position[1]: near-constant: every value lies between") &&
                 Contains("action.joint_position[2]: outlier: max 1e+06 (episode 1 of odd, frame "
                          "20)") &&
                 !Contains("state.joint_position[0]:"));

  auto widened = command;
  widened.insert(widened.end(), {"--merge", "--range-floor", "0.02"});
  const auto again = run_wamtrain(widened, folder.path());
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  CHECK_THAT(again.out, Contains("action.joint_position: the range of dimension 0, 1 is widened"));
  const json key = json::parse(wam::read_file(folder.path() / "m.json"))
                       .at("tiny")
                       .at("statistics")
                       .at("action")
                       .at("joint_position");
  CHECK(key.at("max")[1].get<double>() - key.at("min")[1].get<double>() == Approx(0.02));
  CHECK(key.at("max")[2].get<double>() == 1e6);

  // Training does the same, and q99 keeps the outlier within bounds.
  folder.write_recipe();
  const auto trained = run_wamtrain(
      {"train", "recipe.yaml", "--set", "data.datasets=[{path: odd, embodiment: arm.yaml}]",
       "--set", "data.statistics=compute", "--set", "data.range_floor=0.02"},
      folder.path());
  INFO(trained.err << trained.out);
  REQUIRE(trained.exit_code == 0);
  CHECK(json::parse(wam::read_file(folder.path() / "run" / "metadata.json")) ==
        json::parse(wam::read_file(folder.path() / "m.json")));
  std::ifstream metrics(folder.path() / "run" / "metrics.jsonl");
  for (std::string line; std::getline(metrics, line);) {
    CHECK(json::parse(line).at("loss").get<double>() < 10);
  }
}

TEST_CASE("stats: an episode filter gives what a run with that filter computes") {
  const Workplace place;
  const auto sample = run_wamtrain({"sample", "--out", "more", "--episodes", "4"}, place.path());
  REQUIRE(sample.exit_code == 0);
  const auto stats = [&](const std::string& out, const std::vector<std::string>& filter) {
    std::vector<std::string> command = {"stats", "more", "--embodiment", "tiny", "--out", out};
    command.insert(command.end(), filter.begin(), filter.end());
    return run_wamtrain(command, place.path());
  };
  const auto done = stats("some.json", {"--episodes", "0", "2:", "--min-length", "10"});
  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("1 of 4 episodes are left out by episodes: [0, 2:]") &&
                           Contains("statistics of tiny: 3 episodes"));
  REQUIRE(stats("all.json", {}).exit_code == 0);
  const auto text = wam::read_file(place.path() / "some.json");
  CHECK(text != wam::read_file(place.path() / "all.json"));
  place.write_recipe();

  const auto trained =
      run_wamtrain({"train", "recipe.yaml", "--set", "data.statistics=compute", "--set",
                    "data.datasets=[{path: more, embodiment: tiny, episodes: [\"0\", \"2:\"]}]"},
                   place.path());
  INFO(trained.err << trained.out);
  REQUIRE(trained.exit_code == 0);
  CHECK_THAT(trained.out, Contains("computed over the 3 episodes in use"));
  CHECK(wam::read_file(place.path() / "run" / "metadata.json") == text);

  CHECK_THAT(stats("no.json", {"--only-successful"}).err, Contains("no `success` for episode 0"));
  const auto crossed = stats("no.json", {"--min-length", "9", "--max-length", "5"});
  CHECK(crossed.exit_code == 2);
  CHECK_THAT(crossed.err, Contains("--min-length") && Contains("Fix: "));
}

TEST_CASE("stats: NaN is refused with its place, or left out and counted") {
  const TempFolder folder;
  write_odd_set(folder.path() / "odd", std::nanf(""));
  write_absolute_record(folder.path() / "arm.yaml");
  std::vector<std::string> command = {"stats",    "odd",   "--embodiment",
                                      "arm.yaml", "--out", "m.json"};
  const auto refused = run_wamtrain(command, folder.path());
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("episode 1, frame 20, column 'action'") && Contains("Fix: "));

  command.emplace_back("--leave-out-not-finite");
  const auto done = run_wamtrain(command, folder.path());
  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Contains("1 values are not finite and left out"));
  const json file = json::parse(wam::read_file(folder.path() / "m.json"));
  const json& max = file["tiny"]["statistics"]["action"]["joint_position"]["max"];
  CHECK(max[2].get<double>() == Approx(1).epsilon(0.01));
}

TEST_CASE("stats: a file that is there is kept unless its entry is to be merged") {
  const Workplace place;
  const std::vector<std::string> command = {"stats", "data",  "data",  "--embodiment",
                                            "tiny",  "--out", "m.json"};
  std::ofstream(place.path() / "m.json") << R"({"other": {"note": 1, "statistics":
    {"state": {}, "action": {}}}})";
  const auto refused = run_wamtrain(command, place.path());
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains("m.json exists") && Contains("Fix: write --merge"));

  auto merged = command;
  merged.emplace_back("--merge");
  CHECK(run_wamtrain(merged, place.path()).exit_code == 0);
  const json file = json::parse(wam::read_file(place.path() / "m.json"));
  CHECK(file.at("other").at("note") == 1);
  CHECK(file.at("tiny").at("statistics").contains("state"));

  std::ofstream(place.path() / "m.json") << "{";
  CHECK_THAT(run_wamtrain(merged, place.path()).err, Contains("not JSON"));
}

TEST_CASE("stats: what cannot be done is refused with the fix, before anything is read") {
  const Workplace place;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& expected) {
    std::vector<std::string> command = {"stats", "data"};
    command.insert(command.end(), more.begin(), more.end());
    const auto done = run_wamtrain(command, place.path());
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Contains(expected) && Contains("Fix: "));
  };
  refused({"--embodiment", "tinny", "--out", "m.json"}, "tiny");
  refused({"--embodiment", "tiny", "--out", "none/m.json"}, "there is no folder");
  refused({"--embodiment", "tiny", "--out", "m.json", "--range-floor", "-1"}, "--range-floor");
  refused({"--embodiment", "tiny", "--out", "m.json", "--threads", "-2"}, "--threads");
  refused({"gone", "--embodiment", "tiny", "--out", "m.json"}, "gone");
  CHECK_FALSE(std::filesystem::exists(place.path() / "m.json"));
}
