#include <iostream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Two ranks validate as one does.

using nlohmann::json;
using wam::test::bash;
using wam::test::file_content;
using wam::test::quoted;
using wam::test::TinyRuns;

namespace {

json last_validation(const TinyRuns& runs, const std::string& run) {
  json found;
  std::istringstream lines(file_content(runs.path() / run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto value = json::parse(line);
    if (value.contains("validation")) found = value["validation"];
  }
  return found;
}

// In a window's place: pairs of numbers that should be equal.
void check_close(const json& found, const json& expected) {
  REQUIRE(found.type() == expected.type());
  if (found.is_number_float()) {
    CHECK(found.get<double>() == Approx(expected.get<double>()).epsilon(1e-6).margin(1e-9));
  } else if (found.is_structured()) {
    REQUIRE(found.size() == expected.size());
    for (auto f = found.begin(), e = expected.begin(); f != found.end(); ++f, ++e) {
      check_close(*f, *e);
    }
  } else {
    CHECK(found == expected);
  }
}

}  // namespace

TEST_CASE("validation: two sharded ranks report what one does, and keep the same windows") {
  if (*WAM_MPIRUN == '\0') {
    std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
    return;
  }
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=2",          "validate.every=2",
                                      "validate.windows=5",     "validate.sampling_steps=2",
                                      "validate.shuffled=true", "data.validation=1",
                                      "train.micro_batch=1",    "precision.compute=fp64",
                                      "run.device=cpu",         "run.timeout_s=60"};
  runs.must_train("one", overrides);
  auto sharded = overrides;
  sharded.emplace_back("parallel.strategy=full_shard");

  const int code = bash(
      runs.path(), "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n" WAM_MPIRUN
                   " -np 2 --oversubscribe --bind-to none '" WAM_PROGRAM "'" +
                       quoted(runs.arguments("train", "two", sharded)));

  INFO(file_content(runs.path() / "said"));
  REQUIRE(code == 0);
  json found = last_validation(runs, "two");
  json expected = last_validation(runs, "one");
  REQUIRE(expected["windows"] == 5);
  for (json* value : {&found, &expected}) value->erase("seconds");
  check_close(found, expected);
  const auto kept = [&](const std::string& run) {
    return json::parse(file_content(runs.path() / run / "validation/step_00000002.json"));
  };
  REQUIRE(kept("one")["windows"].size() == 4);
  check_close(kept("two"), kept("one"));
}
