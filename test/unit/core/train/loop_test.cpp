#include "core/train/loop.h"

#include <cmath>
#include <csignal>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/core/train/fake_training.h"

using nlohmann::json;
using wam::test::FakeRun;
using wam::test::TempFolder;

namespace {

std::vector<json> lines_of(const FakeRun& run) {
  std::vector<json> out;
  for (const auto& line : run.lines()) out.push_back(json::parse(line));
  return out;
}

// Finishes; the metrics as JSON.
std::vector<json> metrics_of(FakeRun& run) {
  CHECK(run.run() == wam::LoopEnd::kFinished);
  return lines_of(run);
}

// The lines without what depends on the clock and on the machine.
std::vector<json> timeless(std::vector<json> lines) {
  for (json& line : lines) {
    for (const char* key : {"step_s", "forward_backward_s", "encode_s", "update_s",
                            "exposed_gather_s", "exposed_reduce_s", "data_wait_s", "checkpoint_s",
                            "other_s", "samples_per_s", "peak_memory_bytes"}) {
      line.erase(key);
    }
  }
  return lines;
}

// A run with skipped steps, one after a checkpoint.
void set_up_skips(FakeRun& run) {
  run.options.checkpoint_every = 2;
  run.model.bad_ordinals = {5, 8, 20};  // steps 2, 3 and 6
}

// Says yes from a certain question on.
class AnsweredStop final : public wam::StopAgreement {
 public:
  bool agreed() override { return ++asked_ >= yes_from; }
  void check() override {
    if (++checked_ == fails_at) throw wam::CommError("rank 2 is gone");
  }
  [[nodiscard]] std::string reason() const override { return "a reason"; }
  int yes_from = 1000;
  int fails_at = 0;  // the check after this step's numbers

 private:
  int asked_ = 0;
  int checked_ = 0;
};

struct PhaseLog final : public wam::PhaseObserver {
  void enter(wam::Phase phase, std::int64_t step, std::int64_t micro_step) noexcept override {
    text += fmt::format("{} {}.{}, ", wam::name_of(phase), step, micro_step);
  }
  void moved() noexcept override {}
  std::string text;
};

}  // namespace

TEST_CASE("loop: a micro-batch of any size gives the same steps, uneven ones weighted by size") {
  const TempFolder whole_folder;
  FakeRun whole(whole_folder.path(), 8, 8);
  const auto expected = metrics_of(whole);
  REQUIRE(expected.size() == 6);
  REQUIRE(whole.weights()[2] != 0);
  for (const std::int64_t micro : {1, 3, 5}) {
    INFO("micro-batch " << micro);
    const TempFolder folder;
    FakeRun run(folder.path(), 8, micro);

    const auto found = metrics_of(run);

    for (std::size_t i = 0; i < 6; ++i) {
      // Sums of a few dozen float32 numbers in another order.
      for (const char* key : {"loss", "video_loss", "action_loss", "grad_norm"}) {
        CHECK(found[i][key].get<double>() == Approx(expected[i][key].get<double>()).epsilon(1e-5));
      }
      CHECK(found[i]["samples_seen"] == expected[i]["samples_seen"]);
    }
    for (std::size_t i = 0; i < run.weights().size(); ++i) {
      CHECK(run.weights()[i] == Approx(whole.weights()[i]).margin(1e-5));
    }
  }
}

TEST_CASE("loop: the loss is the mean over the batch, and it falls") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 3);
  run.options.steps = 40;
  run.options.schedule.total_steps = 1000;

  const auto metrics = metrics_of(run);

  // Weights are 0 at the first step: the mean of |x(s)|^2 over samples 0 to 3.
  double expected = 0;
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 6; ++i) expected += std::pow(1 + std::sin(0.37 * i + 1.31 * s), 2) / 4;
  }
  CHECK(metrics[0]["loss"].get<double>() == Approx(expected).epsilon(1e-6));
  CHECK(metrics[39]["loss"].get<double>() < 0.6 * metrics[0]["loss"].get<double>());
}

TEST_CASE("loop: every step has a line with these keys") {
  const TempFolder folder;
  FakeRun run(folder.path(), 8, 8);

  const auto metrics = metrics_of(run);

  const std::vector<std::string> keys{"action_loss",
                                      "checkpoint_s",
                                      "data_wait_s",
                                      "encode_s",
                                      "epoch",
                                      "exposed_gather_s",
                                      "exposed_reduce_s",
                                      "forward_backward_s",
                                      "grad_norm",
                                      "largest_unit",
                                      "largest_unit_norm",
                                      "learning_rate",
                                      "loss",
                                      "other_s",
                                      "peak_memory_bytes",
                                      "samples_per_s",
                                      "samples_seen",
                                      "step",
                                      "step_s",
                                      "update_s",
                                      "video_loss"};
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<std::string> found;
    for (const auto& [key, value] : metrics[i].items()) found.push_back(key);
    CHECK(found == keys);
    CHECK(metrics[i]["step"] == i + 1);
    CHECK(metrics[i]["samples_seen"] == 8 * (i + 1));
    CHECK(metrics[i]["epoch"].get<double>() == Approx(8.0 * static_cast<double>(i + 1) / 20));
    CHECK(metrics[i]["learning_rate"] == run.options.schedule.rate(static_cast<std::int64_t>(i)));
    CHECK(metrics[i]["largest_unit"] == "unit");
    CHECK(metrics[i]["largest_unit_norm"] == metrics[i]["grad_norm"]);  // the other has none
    CHECK(metrics[i]["step_s"].get<double>() > 0);
    CHECK(metrics[i]["samples_per_s"].get<double>() > 0);
  }
}

TEST_CASE("loop: saves every n steps and at the end, each step once") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.checkpoint_every = 4;
  metrics_of(run);
  CHECK(run.saved == std::vector<std::int64_t>{4, 6});

  const TempFolder even_folder;
  FakeRun even(even_folder.path(), 4, 4);
  even.options.checkpoint_every = 3;
  metrics_of(even);
  CHECK(even.saved == std::vector<std::int64_t>{3, 6});
}

TEST_CASE("loop: without steps the first checkpoint is written, and nothing else") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.steps = 0;

  CHECK(run.run() == wam::LoopEnd::kFinished);

  CHECK(run.saved == std::vector<std::int64_t>{0});
  CHECK(run.lines().empty());
}

TEST_CASE("loop: a finished run that starts again saves nothing") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.resumed = true;

  CHECK(run.run(6) == wam::LoopEnd::kFinished);

  CHECK(run.saved.empty());
}

TEST_CASE("loop: a stop request ends it after the step in hand, with a checkpoint") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 2);
  // In the first micro-batch of step 3.
  run.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 8) std::raise(SIGTERM);
  };

  CHECK(run.run() == wam::LoopEnd::kStopped);

  CHECK(run.lines().size() == 3);
  CHECK(run.saved == std::vector<std::int64_t>{3});
  CHECK_THAT(run.log_text(), Catch::Contains("SIGTERM received: saving after step 3 and leaving"));
}

TEST_CASE("loop: Slurm's warning is a stop request, and SIGTERM after it is no second one") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 2);
  run.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 8) std::raise(SIGUSR1);
  };
  run.on_save = [] {
    std::raise(SIGTERM);
    std::raise(SIGUSR1);
  };

  CHECK(run.run() == wam::LoopEnd::kStopped);

  CHECK(run.saved == std::vector<std::int64_t>{3});
  CHECK_THAT(run.log_text(), Catch::Contains("SIGUSR1 received: saving after step 3 and leaving"));
}

TEST_CASE("loop: where it stops depends on nothing but which of its questions is answered yes") {
  const TempFolder folder;
  AnsweredStop stop;
  FakeRun run(folder.path(), 4, 2);
  run.stop = &stop;

  // One question before the first step; then one after each step, and one before the next.
  const auto [yes_from, saved] =
      GENERATE(std::pair{1, 0}, std::pair{2, 1}, std::pair{3, 1}, std::pair{4, 2}, std::pair{7, 3});
  stop.yes_from = yes_from;

  CHECK(run.run() == wam::LoopEnd::kStopped);

  CHECK(run.saved == (saved == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{saved}));
  CHECK_THAT(run.log_text(), Catch::Contains("a reason"));
}

TEST_CASE("loop: numbers of a step that was aborted are neither written nor saved") {
  const TempFolder folder;
  AnsweredStop stop;
  stop.fails_at = 3;
  FakeRun run(folder.path(), 4, 2);
  run.stop = &stop;
  run.options.checkpoint_every = 1;
  run.options.reads_late = GENERATE(false, true);

  CHECK_THROWS_AS(run.run(), wam::CommError);

  CHECK(run.lines().size() == 2);
  CHECK(run.saved == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("loop: tells where it stands") {
  const TempFolder folder;
  PhaseLog phases;
  FakeRun run(folder.path(), 4, 2);
  run.observer = &phases;
  run.options.steps = 2;
  run.options.checkpoint_every = 1;

  run.run();

  CHECK(phases.text ==
        "waiting for data 1.1, forward and backward 1.1, waiting for data 1.2, "
        "forward and backward 1.2, update 1.0, checkpoint 1.0, "
        "waiting for data 2.1, forward and backward 2.1, waiting for data 2.2, "
        "forward and backward 2.2, update 2.0, checkpoint 2.0, ");
}

TEST_CASE("loop: a stop request in the last step is a finished run") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 20) std::raise(SIGINT);
  };

  CHECK(run.run() == wam::LoopEnd::kFinished);

  CHECK(run.saved == std::vector<std::int64_t>{6});
}

TEST_CASE("loop: a gradient that is not finite skips the update, step, data and rate go on") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 2);
  run.model.bad_ordinals = {6};  // step 2
  std::vector<std::string> states;
  run.options.checkpoint_every = 1;
  run.on_save = [&] { states.push_back(run.state()); };

  const auto metrics = metrics_of(run);

  REQUIRE(metrics.size() == 6);
  CHECK((states[1] == states[0]));
  CHECK_FALSE((states[2] == states[1]));
  CHECK(run.optimizer.applied_updates() == 5);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(metrics[i]["samples_seen"] == 4 * (i + 1));
    CHECK(metrics[i]["learning_rate"] == run.options.schedule.rate(static_cast<std::int64_t>(i)));
    CHECK(metrics[i].contains("skipped") == (i == 1));
  }
  CHECK(metrics[1]["grad_norm"] == "inf");
  CHECK(metrics[1]["samples"] == json({"0/7/4", "0/7/5", "0/7/6", "0/7/7"}));
  CHECK_THAT(run.log_text(),
             Catch::Contains("step 2: the gradient norm is inf") &&
                 Catch::Contains("the update was skipped. First not finite: the gradient of unit "
                                 "unit, tensor b."));
}

TEST_CASE("loop: bad windows are named, counted once and kept for the checkpoint") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 2);
  run.options.reads_late = GENERATE(false, true);
  run.options.max_bad_samples = 2;
  run.options.checkpoint_every = 2;
  run.source.replaced = {{5, 1}, {7, 2}, {16, 1}};  // steps 2 and 5
  std::vector<std::size_t> counts;
  run.on_save = [&] { counts.push_back(run.bad_windows.size()); };

  const auto metrics = metrics_of(run);

  REQUIRE(metrics.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(metrics[i].contains("bad_samples") == (i == 1 || i == 4));
  }
  CHECK(metrics[1]["bad_samples"] == json({"0/9/100", "0/9/100", "0/9/101"}));
  CHECK(metrics[4]["bad_samples"] == json({"0/9/100"}));
  CHECK(counts == std::vector<std::size_t>{2, 2, 2});
  CHECK(run.bad_windows == std::set<std::string>{"0/9/100", "0/9/101"});
  CHECK_THAT(run.log_text(), Catch::Contains("step 2: sample 5 is replaced: a torn frame") &&
                                 Catch::Contains("2 such windows in the run so far, of 2") &&
                                 !Catch::Contains("sample 16 is replaced"));
}

TEST_CASE("loop: one bad window more than allowed ends the run, those of before counted") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 2);
  run.options.max_bad_samples = 3;
  run.options.checkpoint_every = 1;
  run.bad_windows = {"0/1/1", "0/9/100"};
  run.source.replaced = {{5, 2}, {8, 3}};  // steps 2 and 3

  CHECK_THROWS_WITH(run.run(), Catch::Contains("4 windows have bad content") &&
                                   Catch::Contains("the last of them 0/9/102"));

  CHECK(run.lines().size() == 3);
  CHECK(run.saved == std::vector<std::int64_t>{1, 2});
  CHECK(run.bad_windows.size() == 4);
}

TEST_CASE("loop: a unit whose norm is not a number is the largest") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.model.bad_ordinals = {0};
  run.model.bad_gradient = std::nan("");

  const auto metrics = metrics_of(run);

  CHECK(metrics[0]["largest_unit"] == "unit");
  CHECK(metrics[0]["largest_unit_norm"] == "nan");
  CHECK(metrics[0]["skipped"] == true);
}

TEST_CASE("loop: stops after so many skipped updates in a row") {
  const TempFolder folder;
  FakeRun run(folder.path(), 4, 4);
  run.options.steps = 20;
  run.options.max_nonfinite = 3;
  run.options.checkpoint_every = 1;
  run.model.bad_ordinals = {0, 4, 12, 20, 24, 28};  // steps 1 2, 4, and 6 7 8

  CHECK_THROWS_WITH(run.run(),
                    Catch::Contains("3 updates in a row were not finite, the last at step 8") &&
                        Catch::Contains("the gradient of unit unit, tensor b") &&
                        Catch::Contains("train.max_nonfinite is 3. Fix: ") &&
                        Catch::Contains("resume from a checkpoint before step 6"));
  CHECK(run.lines().size() == 8);
  CHECK(run.saved.back() == 7);
}

TEST_CASE("loop: read late, a run writes the same lines and the same weights") {
  const TempFolder folder;
  const TempFolder late_folder;
  FakeRun run(folder.path(), 4, 2);
  FakeRun late(late_folder.path(), 4, 2);
  late.options.reads_late = true;
  set_up_skips(run);
  set_up_skips(late);
  // A checkpoint is written when everything has been read.
  late.on_save = [&] { CHECK(late.lines().size() == static_cast<std::size_t>(late.saved.back())); };

  const auto metrics = metrics_of(run);
  const auto late_metrics = metrics_of(late);

  REQUIRE(metrics.size() == 6);
  CHECK(timeless(late_metrics) == timeless(metrics));
  CHECK(late.saved == run.saved);
  CHECK((late.state() == run.state()));
  CHECK_THAT(late.log_text(), Catch::Contains("step 3: the gradient norm is inf") &&
                                  Catch::Contains("the gradient of unit unit, tensor b."));
}

TEST_CASE("loop: read late, a step is submitted before the one before it has been read") {
  for (const bool late : {false, true}) {
    const TempFolder folder;
    FakeRun run(folder.path(), 4, 4);
    run.options.reads_late = late;
    std::vector<std::size_t> read;  // lines when a step begins
    run.model.on_sample = [&](std::uint64_t ordinal) {
      if (ordinal % 4 == 0) read.push_back(run.lines().size());
    };

    metrics_of(run);

    const std::vector<std::size_t> at_once{0, 1, 2, 3, 4, 5};
    const std::vector<std::size_t> one_behind{0, 0, 1, 2, 3, 4};
    CHECK(read == (late ? one_behind : at_once));
  }
}

TEST_CASE("loop: read late, too many skipped updates stop it one step later, with the same lines") {
  std::vector<std::vector<json>> lines;
  std::vector<std::uint64_t> last_step;
  for (const bool late : {false, true}) {
    const TempFolder folder;
    FakeRun run(folder.path(), 4, 4);
    run.options.reads_late = late;
    run.options.steps = 20;
    run.options.max_nonfinite = 2;
    run.model.bad_ordinals = {8, 12, 16};
    std::uint64_t step = 0;
    run.model.on_sample = [&](std::uint64_t ordinal) { step = ordinal / 4 + 1; };

    CHECK_THROWS_WITH(run.run(),
                      Catch::Contains("2 updates in a row were not finite, the last at step 4"));

    lines.push_back(timeless(lines_of(run)));
    last_step.push_back(step);
  }
  CHECK(lines[0].size() == 4);
  CHECK(lines[1] == lines[0]);
  CHECK(last_step == std::vector<std::uint64_t>{4, 5});
}

TEST_CASE("loop: read late, a stop request and an error leave no step without its line") {
  const TempFolder folder;
  FakeRun stopped(folder.path(), 4, 2);
  stopped.options.reads_late = true;
  stopped.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 8) std::raise(SIGTERM);
  };
  CHECK(stopped.run() == wam::LoopEnd::kStopped);
  CHECK(stopped.lines().size() == 3);
  CHECK(stopped.saved == std::vector<std::int64_t>{3});

  const TempFolder other_folder;
  FakeRun failed(other_folder.path(), 4, 2);
  failed.options.reads_late = true;
  failed.model.on_sample = [](std::uint64_t ordinal) {
    if (ordinal == 10) throw wam::DataError("no such frame");
  };
  CHECK_THROWS_WITH(failed.run(), "no such frame");
  CHECK(failed.lines().size() == 2);
}
