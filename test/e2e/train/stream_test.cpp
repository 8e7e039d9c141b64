#include <sstream>

#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// The choice of workers, micro-batch and recompute changes speed and memory, never what is
// computed.

using wam::test::TinyRuns;

namespace {

const TinyRuns::Overrides kShort{"train.steps=3", "train.global_batch=8", "train.micro_batch=8",
                                 "train.warmup=0", "train.schedule=constant"};

TinyRuns::Overrides with(TinyRuns::Overrides overrides, const std::string& value) {
  overrides.push_back(value);
  return overrides;
}

std::vector<double> numbers(const TinyRuns& runs, const std::string& run, const char* key) {
  std::istringstream lines(wam::test::file_content(runs.path() / run / "metrics.jsonl"));
  std::vector<double> out;
  for (std::string line; std::getline(lines, line);) {
    out.push_back(nlohmann::json::parse(line)[key].get<double>());
  }
  return out;
}

}  // namespace

TEST_CASE("stream: 0, 1 and 8 workers give the same bits") {
  const TinyRuns runs;
  for (const char* workers : {"0", "1", "8"}) {
    runs.must_train(workers, with(kShort, std::string("data.workers=") + workers));
  }

  REQUIRE(runs.losses("0").size() == 3);
  for (const char* workers : {"1", "8"}) {
    INFO(workers << " workers");
    CHECK(runs.losses(workers) == runs.losses("0"));
    CHECK((runs.state(workers, 3) == runs.state("0", 3)));
  }
}

TEST_CASE("stream: micro-batches of 1, 3 and 8 use the same samples and draws") {
  const TinyRuns runs;
  for (const char* micro : {"1", "3", "8"}) {
    runs.must_train(micro, with(kShort, std::string("train.micro_batch=") + micro));
  }

  for (const char* key : {"loss", "video_loss", "action_loss", "grad_norm", "samples_seen"}) {
    const auto expected = numbers(runs, "8", key);
    REQUIRE(expected.size() == 3);
    for (const char* micro : {"1", "3"}) {
      INFO(key << ", micro-batch " << micro);
      const auto found = numbers(runs, micro, key);
      // The same sums in another order, in float32; another sample or draw moves the loss by
      // percents. Later steps start from weights that differ in their last bits.
      CHECK(found[0] == Approx(expected[0]).epsilon(2e-6));
      CHECK(found[1] == Approx(expected[1]).epsilon(1e-3));
      CHECK(found[2] == Approx(expected[2]).epsilon(1e-3));
    }
  }
}

TEST_CASE("stream: recompute gives the same bits") {
  const TinyRuns runs;
  runs.must_train("none", with(kShort, "memory.recompute=none"));
  for (const char* policy : {"norms", "attention", "full"}) {
    INFO(policy);
    runs.must_train(policy, with(kShort, std::string("memory.recompute=") + policy));
    CHECK(runs.losses(policy) == runs.losses("none"));
    CHECK((runs.state(policy, 3) == runs.state("none", 3)));
  }
}

TEST_CASE("stream: another seed is another run") {
  const TinyRuns runs;
  runs.must_train("one", with(kShort, "run.seed=1"));
  runs.must_train("two", with(kShort, "run.seed=2"));

  CHECK(runs.losses("one") != runs.losses("two"));
}

TEST_CASE("stream: one batch repeated with its draws is learnt") {
  const TinyRuns runs;
  auto overrides = with(kShort, "data.repeat_batch=true");
  overrides.emplace_back("train.steps=20");
  overrides.emplace_back("train.learning_rate=2.0e-3");
  runs.must_train("repeated", overrides);

  const auto loss = numbers(runs, "repeated", "loss");

  REQUIRE(loss.size() == 20);
  for (std::size_t i = 4; i < loss.size(); i += 4) CHECK(loss[i] < loss[i - 4]);
  CHECK(loss[19] < 0.6 * loss[0]);
}
