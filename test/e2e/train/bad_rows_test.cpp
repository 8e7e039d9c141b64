#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

// Values of a dataset that are no numbers, while training.

using nlohmann::json;
using wam::test::TinyRuns;

namespace {

// Two short episodes; row 10 of the second one's state is NaN. With one block a sample that is the
// state of two windows: the one at 10, and the one at 18, which does not fit and begins at 10, too.
void write_set_with_nan(const TinyRuns& runs) {
  wam::test::write_arm_set(runs.path() / "nan",
                           {.episodes = {{20, "Reach the red block"}, {24, "Reach the blue block"}},
                            .bad_state = {{1, 10}}});
}

TinyRuns::Overrides options(int steps, const std::string& policy) {
  return {"data.datasets=[{path: nan, embodiment: tiny}]",
          "data.validation=0",
          "train.schedule=constant",
          "train.warmup=1",
          "checkpoint.every=8",
          fmt::format("train.steps={}", steps),
          "data.on_bad_sample=" + policy};
}

std::vector<json> lines(const TinyRuns& runs, const std::string& run) {
  std::vector<json> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
  return out;
}

}  // namespace

TEST_CASE("data: one NaN costs its windows, the same in every run, and each counts once") {
  const TinyRuns runs;
  write_set_with_nan(runs);
  const auto with_limit = [](int steps) {
    auto out = options(steps, "skip");
    out.emplace_back("data.max_bad_samples=2");
    return out;
  };

  runs.must_train("whole", with_limit(24));
  runs.must_train("halves", with_limit(16));
  runs.must_train("halves", with_limit(24));
  runs.must_train("ranks", with_limit(24), 2);

  const auto whole = lines(runs, "whole");
  const auto ranks = lines(runs, "ranks");
  REQUIRE(whole.size() == 24);
  REQUIRE(ranks.size() == 24);
  std::size_t replaced = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    INFO("step " << i + 1);
    const json bad = whole[i].value("bad_samples", json::array());
    for (const auto& name : bad) CHECK((name == "0/1/10" || name == "0/1/18"));
    replaced += bad.size();
    CHECK(ranks[i].value("bad_samples", json::array()) == bad);
    CHECK(ranks[i].at("loss").get<double>() ==
          Approx(whole[i].at("loss").get<double>()).epsilon(1e-4));
  }
  CHECK(replaced > 2);  // in 96 samples of 39 windows
  CHECK(runs.losses("halves") == runs.losses("whole"));
  CHECK((runs.state("halves", 24) == runs.state("whole", 24)));
  for (const char* run : {"whole", "halves", "ranks"}) {
    const auto manifest =
        json::parse(wam::test::file_content(runs.checkpoint(run, 24) / "manifest.json"));
    CHECK(manifest["data"]["bad_windows"] == json({"0/1/10", "0/1/18"}));
  }
}

TEST_CASE("data: one NaN ends a run that is not to skip, with file, episode and row") {
  const TinyRuns runs;
  write_set_with_nan(runs);
  const std::string file = "nan/data/chunk-000/episode_000001.parquet";
  const auto check = [&](const wam::test::Outcome& done) {
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Catch::Contains(file) && Catch::Contains("episode 1") &&
                             Catch::Contains("frame 10") && Catch::Contains("Fix: "));
  };
  check(runs.train("computed", options(24, "fail")));

  // With statistics at hand the rows are not read before they are drawn.
  runs.must_train("skipped", options(1, "skip"));
  auto drawn = options(24, "fail");
  drawn.emplace_back("data.statistics=skipped/metadata.json");
  check(runs.train("drawn", drawn));
  CHECK(!runs.losses("drawn").empty());
}
