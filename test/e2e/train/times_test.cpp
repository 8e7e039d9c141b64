// Where the time of a step goes, as metrics.jsonl has it.

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

using nlohmann::json;
using wam::test::TinyRuns;

namespace {

constexpr int kSteps = 6;
constexpr std::initializer_list<const char*> kParts{
    "forward_backward_s", "encode_s",    "update_s",     "exposed_gather_s",
    "exposed_reduce_s",   "data_wait_s", "checkpoint_s", "other_s"};

// Steps of the run, each with "step" and times.
std::vector<json> steps_of(const TinyRuns& runs, const std::string& run) {
  std::vector<json> out;
  std::ifstream in(runs.path() / run / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto parsed = json::parse(line);
    if (parsed.contains("loss")) out.push_back(std::move(parsed));
  }
  REQUIRE(out.size() == kSteps);
  return out;
}

double sum_of(const std::vector<json>& steps, const char* part) {
  double sum = 0;
  for (const json& step : steps) sum += step[part].get<double>();
  return sum;
}

void check_adds_up(const std::vector<json>& steps, double wall_s) {
  for (const json& step : steps) {
    double sum = 0;
    for (const char* part : kParts) {
      INFO(part);
      CHECK(step[part].get<double>() >= 0);
      sum += step[part].get<double>();
    }
    const auto step_s = step["step_s"].get<double>();
    CHECK(std::abs(sum - step_s) <= 0.02 * step_s);
  }
  const double whole = sum_of(steps, "step_s");
  CHECK(whole <= wall_s);
  CHECK(sum_of(steps, "forward_backward_s") + sum_of(steps, "encode_s") > 0.2 * whole);
  CHECK(sum_of(steps, "forward_backward_s") > 0);
  CHECK(sum_of(steps, "encode_s") > 0);
  CHECK(sum_of(steps, "update_s") > 0);
  // What nobody named is next to nothing, where only few things are done.
  CHECK(sum_of(steps, "other_s") < 0.05 * whole);
}

}  // namespace

TEST_CASE("Times: the parts of every step add up, with checkpoints and validation between") {
  const TinyRuns runs;
  const auto done =
      runs.must_train("one", {"train.steps=6", "checkpoint.every=2", "validate.every=3"});

  const auto steps = steps_of(runs, "one");

  check_adds_up(steps, done.seconds);
  CHECK(sum_of(steps, "exposed_gather_s") == 0);
  CHECK(sum_of(steps, "exposed_reduce_s") == 0);
  // The copy of a state is taken between steps: it shows in the step after.
  CHECK(steps[2]["checkpoint_s"].get<double>() > 5 * steps[1]["checkpoint_s"].get<double>());
}

TEST_CASE("Times: on two ranks the wait for communication is a part of the step") {
  if (!wam::test::has_mpirun()) return;
  const TinyRuns runs;
  const TinyRuns::Overrides common{"train.steps=6", "train.micro_batch=2"};
  for (const std::string strategy : {"full_shard", "no_shard"}) {
    TinyRuns::Overrides overrides = common;
    overrides.push_back("parallel.strategy=" + strategy);
    const auto done = runs.must_train(strategy, overrides, 2);

    const auto steps = steps_of(runs, strategy);

    check_adds_up(steps, done.seconds);
    CHECK(sum_of(steps, "exposed_reduce_s") > 0);
    CHECK((sum_of(steps, "exposed_gather_s") > 0) == (strategy == "full_shard"));
    CHECK(done.out.find("  comm ") != std::string::npos);
  }
}
