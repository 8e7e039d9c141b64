#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// What a run does with the checkpoints that it finds.

namespace fs = std::filesystem;
using wam::test::damage;
using wam::test::Outcome;
using wam::test::TinyRuns;

namespace {

// Six steps, a checkpoint every two.
class Trained {
 public:
  Trained() { runs.must_train("run", overrides()); }

  [[nodiscard]] static TinyRuns::Overrides overrides(const TinyRuns::Overrides& more = {}) {
    TinyRuns::Overrides out{"train.steps=6", "checkpoint.every=2"};
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }
  [[nodiscard]] Outcome go_on(const TinyRuns::Overrides& more = {}) const {
    return runs.train("run", overrides(more));
  }
  [[nodiscard]] fs::path shard(std::int64_t step) const {
    return runs.checkpoint("run", step) / "shard_00000_of_00001.safetensors";
  }
  [[nodiscard]] std::map<std::string, std::string> content() const {
    auto out = wam::test::folder_content(runs.path() / "run");
    out.erase("log.txt");
    return out;
  }

  TinyRuns runs;
};

// Refused with exit 2, and nothing of the run has changed.
void check_refused(const Trained& trained,
                   const TinyRuns::Overrides& more,
                   const std::string& expected) {
  const auto before = trained.content();

  const auto done = trained.go_on(more);

  INFO(done.out << done.err);
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains(expected) && Catch::Contains("Fix: "));
  CHECK_THAT(done.out, !Catch::Contains("are the same"));
  const auto after = trained.content();
  for (const auto& [file, bytes] : before) {
    INFO(file);
    REQUIRE(after.contains(file));
    CHECK((after.at(file) == bytes));
  }
  CHECK(after.size() == before.size());
}

}  // namespace

TEST_CASE("checkpoint: one flipped byte, and the run falls back to the one before and says so") {
  const Trained trained;
  const auto losses = trained.runs.losses("run");
  const auto state = trained.runs.state("run", 6);
  damage(trained.shard(6));

  const auto done = trained.go_on();

  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("passing over run/checkpoints/step_00000006: the content of "
                                       "shard_00000_of_00001.safetensors has changed"));
  CHECK_THAT(done.out, Catch::Contains("resuming from run/checkpoints/step_00000004"));
  CHECK_THAT(done.out, Catch::Contains("step_00000006.set_aside"));
  CHECK(trained.runs.losses("run") == losses);
  CHECK((trained.runs.state("run", 6) == state));
  CHECK(fs::exists(trained.runs.path() / "run/checkpoints/step_00000006.set_aside"));
}

TEST_CASE("checkpoint: the state hash tells that a resumed run ended as a straight one, or not") {
  const TinyRuns runs;
  const auto hash_of = [&](const std::string& run, const TinyRuns::Overrides& more) {
    const auto done = runs.train(run, Trained::overrides(more));
    REQUIRE(done.exit_code == 0);
    const auto at = done.out.find("state hash: ");
    REQUIRE(at != std::string::npos);
    return done.out.substr(at, std::string("state hash: ").size() + 16);
  };
  const TinyRuns::Overrides unsaved{"log.state_hash=true", "checkpoint.at_end=false"};
  const auto straight = hash_of("straight", unsaved);

  CHECK(hash_of("other", {"log.state_hash=true", "run.seed=5"}) != straight);
  std::filesystem::remove_all(runs.path() / "straight/checkpoints/step_00000006");
  CHECK(hash_of("straight", unsaved) == straight);  // from step 4
}

TEST_CASE("checkpoint: a flipped byte in the manifest, or a file cut short, is noticed as well") {
  const Trained trained;
  damage(trained.runs.checkpoint("run", 6) / "manifest.json");
  fs::resize_file(trained.shard(4), 1000);

  const auto done = trained.go_on();

  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("passing over run/checkpoints/step_00000006: "));
  CHECK_THAT(done.out, Catch::Contains("passing over run/checkpoints/step_00000004: "
                                       "shard_00000_of_00001.safetensors has 1000 bytes"));
  CHECK_THAT(done.out, Catch::Contains("resuming from run/checkpoints/step_00000002"));
}

TEST_CASE("checkpoint: all damaged is an error, never a fresh start") {
  const Trained trained;
  for (const std::int64_t step : {2, 4, 6}) damage(trained.shard(step));

  check_refused(trained, {}, "there is none that is whole, and the run does not start afresh");
}

TEST_CASE("checkpoint: resume never refuses a folder with checkpoints") {
  const Trained trained;
  check_refused(trained, {"checkpoint.resume=never"}, "run/checkpoints holds checkpoints");
}

TEST_CASE("checkpoint: resume names a checkpoint, of another run too") {
  const Trained trained;
  const TinyRuns& runs = trained.runs;
  const auto overrides = Trained::overrides({"checkpoint.resume=run/checkpoints/step_00000002"});

  const auto done = runs.must_train("other", overrides);

  CHECK_THAT(done.out, Catch::Contains("resuming from run/checkpoints/step_00000002"));
  CHECK((runs.state("other", 6) == runs.state("run", 6)));
  damage(trained.shard(4));
  const auto refused =
      runs.train("third", Trained::overrides({"checkpoint.resume=run/checkpoints/step_00000004"}));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Catch::Contains("resuming from run/checkpoints/step_00000004: the "
                                          "content of") &&
                              Catch::Contains("Fix: "));
}

TEST_CASE("checkpoint: a run goes back to an older checkpoint of its own when that is named") {
  const Trained trained;
  const TinyRuns& runs = trained.runs;
  const auto losses = runs.losses("run");
  const auto state = runs.state("run", 6);

  const auto done = trained.go_on({"checkpoint.resume=run/checkpoints/step_00000002/"});

  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("resuming from run/checkpoints/step_00000002") &&
                           Catch::Contains("step_00000004.set_aside") &&
                           Catch::Contains("step_00000006.set_aside"));
  CHECK(runs.losses("run") == losses);
  CHECK((runs.state("run", 6) == state));
}

TEST_CASE("checkpoint: a run started from another's checkpoint goes on from its own") {
  const Trained trained;
  const auto overrides = Trained::overrides({"checkpoint.resume=run/checkpoints/step_00000002"});
  trained.runs.must_train("other", overrides);
  std::filesystem::remove_all(trained.runs.checkpoint("other", 6));

  const auto done = trained.runs.must_train("other", overrides);

  CHECK_THAT(done.out, Catch::Contains("resuming from other/checkpoints/step_00000004"));
}

TEST_CASE("checkpoint: another seed, batch, model or dataset is another run") {
  const Trained trained;
  check_refused(trained, {"run.seed=5"}, "run.seed: checkpoint 1, run 5");
  check_refused(trained, {"train.global_batch=8"}, "train.global_batch: checkpoint 4, run 8");
  check_refused(trained, {"model.layers=1"}, "layers: checkpoint 2, run 1");
  trained.runs.write_dataset("other", 3, 7);
  check_refused(trained, {"data.datasets=[{path: other, embodiment: tiny}]"}, "data");
}

TEST_CASE("checkpoint: other statistics are other data, and trying them harms nothing") {
  const Trained trained;
  std::string other = wam::test::file_content(trained.runs.path() / "run/metadata.json");
  const auto digit = other.find_first_of("123456789", other.find("\"max\""));
  REQUIRE(digit != std::string::npos);
  other[digit] = other[digit] == '9' ? '8' : static_cast<char>(other[digit] + 1);
  std::ofstream(trained.runs.path() / "other.json") << other;

  check_refused(trained, {"data.statistics=other.json"}, "data");

  CHECK(trained.go_on().exit_code == 0);
}

TEST_CASE("checkpoint: what may change is allowed and named") {
  const Trained trained;
  const auto done = trained.go_on({"train.micro_batch=3", "train.steps=8"});

  INFO(done.out << done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("train.micro_batch: 4 -> 3") &&
                           Catch::Contains("train.steps: 6 -> 8"));
  CHECK(trained.runs.losses("run").size() == 8);
}

TEST_CASE("checkpoint: another number of threads is named as not bit for bit") {
  const Trained trained;
  const auto done = trained.go_on({"run.threads=2", "train.steps=7"});

  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("2 threads, the checkpoint was written with 1: on the CPU "
                                       "not bit for bit from here on"));
}

TEST_CASE("checkpoint: metrics are cut back to the checkpoint at resume") {
  const Trained trained;
  const auto metrics = trained.runs.path() / "run" / "metrics.jsonl";
  const auto losses = trained.runs.losses("run");
  fs::remove_all(trained.runs.checkpoint("run", 6));
  // What a killed process leaves: a line that is not whole.
  std::ofstream(metrics, std::ios::app) << R"({"step":7,"epo)";

  const auto done = trained.go_on();

  CHECK(done.exit_code == 0);
  CHECK(trained.runs.losses("run") == losses);
}

TEST_CASE("checkpoint: a finished run that starts again does nothing and says so") {
  const Trained trained;
  const auto before = trained.content();

  const auto done = trained.go_on();

  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("step 6 of 6 is done already"));
  CHECK((trained.content() == before));
}

TEST_CASE("checkpoint: keeps the newest, and latest names the last") {
  const Trained trained;
  const auto done = trained.go_on({"train.steps=10", "checkpoint.keep=2"});

  CHECK(done.exit_code == 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(trained.runs.path() / "run/checkpoints")) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"latest", "step_00000008", "step_00000010"});
  CHECK(wam::test::file_content(trained.runs.path() / "run/checkpoints/latest") ==
        "step_00000010\n");
}

TEST_CASE("verify: 0 for a whole checkpoint, 1 for a damaged one") {
  const Trained trained;
  const auto verify = [&] { return trained.runs.run({"verify", "run/checkpoints/step_00000004"}); };
  const auto good = verify();
  CHECK(good.exit_code == 0);
  CHECK_THAT(good.out, Catch::Contains("step 4, 1 file, ") && Catch::Contains("all hashes hold"));

  damage(trained.shard(4));

  const auto bad = verify();
  CHECK(bad.exit_code == 1);
  CHECK_THAT(bad.out, Catch::Contains("the content of shard_00000_of_00001.safetensors has "
                                      "changed: its hash is"));
}

TEST_CASE("checkpoints: a run's checkpoints with step, age, size, state, for people and scripts") {
  const Trained trained;
  damage(trained.shard(6));
  fs::create_directories(trained.runs.path() / "run/checkpoints/step_00000008.tmp");

  const auto quick = trained.runs.run({"checkpoints", "run"});
  const auto thorough = trained.runs.run({"checkpoints", "run", "--verify", "--json"});

  CHECK(quick.exit_code == 0);
  CHECK_THAT(quick.out, Catch::Contains("step            age       size  state") &&
                            Catch::Contains("complete, latest, train goes on from here") &&
                            Catch::Contains("temporary"));
  CHECK(thorough.exit_code == 1);
  const auto list = nlohmann::json::parse(thorough.out);
  REQUIRE(list.size() == 4);
  const std::vector<std::string> states{"complete", "complete", "damaged", "temporary"};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(list[i]["step"] == 2 * (i + 1));
    CHECK(list[i]["state"] == states[i]);
    CHECK(list[i]["latest"] == (i == 2));
    CHECK(list[i]["resume"] == (i == 1));  // the newest whose hashes hold
    CHECK(list[i]["age_s"].get<double>() >= 0);
  }
  CHECK(list[1]["bytes"].get<std::uintmax_t>() > fs::file_size(trained.shard(4)));
  CHECK_THAT(list[2]["problem"].get<std::string>(),
             Catch::Contains("the content of shard_00000_of_00001.safetensors has changed"));
}

TEST_CASE("checkpoints: a run without any, and a folder that is not there") {
  const TinyRuns runs;
  fs::create_directories(runs.path() / "empty");
  const auto none = runs.run({"checkpoints", "empty"});
  CHECK(none.exit_code == 0);
  CHECK(none.out == "no checkpoints in empty/checkpoints\n");
  CHECK(runs.run({"checkpoints", "empty", "--json"}).out == "[]\n");
  const auto wrong = runs.run({"checkpoints", "nowhere"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("there is no folder nowhere. Fix: "));
}
