#include <sstream>

#include <nlohmann/json.hpp>

#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Validation of a real run, and the page about it.

using nlohmann::json;
using wam::test::file_content;
using wam::test::TinyRuns;

namespace {

const TinyRuns::Overrides kValidated{"train.steps=4",          "validate.every=2",
                                     "validate.windows=3",     "validate.sampling_steps=2",
                                     "validate.shuffled=true", "data.validation=1"};

std::vector<json> validations(const TinyRuns& runs, const std::string& run) {
  std::vector<json> out;
  std::istringstream lines(file_content(runs.path() / run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto value = json::parse(line);
    if (value.contains("validation")) out.push_back(value);
  }
  return out;
}

}  // namespace

TEST_CASE("validation: every n steps, in metrics.jsonl, and training does not notice it") {
  const TinyRuns runs;
  const auto done = runs.must_train("validated", kValidated);
  runs.must_train("plain", {"train.steps=4", "data.validation=1"});

  CHECK(runs.losses("validated") == runs.losses("plain"));
  CHECK((runs.state("validated", 4) == runs.state("plain", 4)));
  const auto found = validations(runs, "validated");
  REQUIRE(found.size() == 2);
  CHECK(found[0]["step"] == 2);
  CHECK(found[1]["step"] == 4);
  for (const auto& line : found) {
    const auto& value = line["validation"];
    CHECK(value["windows"] == 3);
    CHECK(value["action_names"].size() == 3);
    CHECK(value["action_error_per_dim"].size() == 3);
    CHECK(value["action_error_physical"].size() == 3);
    for (const char* key :
         {"video_loss", "action_loss", "action_error", "mean_action_error", "shuffled_error"}) {
      INFO(key);
      CHECK(value[key].get<double>() > 0);
    }
  }
  CHECK(found[0]["validation"]["mean_action_error"] == found[1]["validation"]["mean_action_error"]);
  CHECK_THAT(done.out, Catch::Contains("validation at step 4: video loss"));
}

TEST_CASE("validation: a resumed run validates as a straight one does") {
  const TinyRuns runs;
  auto half = kValidated;
  half.emplace_back("train.steps=3");
  half.emplace_back("train.schedule=constant");
  auto whole = kValidated;
  whole.emplace_back("train.schedule=constant");
  runs.must_train("straight", whole);
  // Validates at steps 2 and 3 (the end).
  runs.must_train("resumed", half);
  runs.must_train("resumed", whole);

  const auto expected = validations(runs, "straight");
  const auto found = validations(runs, "resumed");
  REQUIRE(found.size() == 3);
  for (const char* key : {"video_loss", "action_error", "shuffled_error"}) {
    CHECK(found[0]["validation"][key] == expected[0]["validation"][key]);
    CHECK(found[2]["validation"][key] == expected[1]["validation"][key]);
  }
}

TEST_CASE("report: one page with curves, actions and the recipe, that loads nothing") {
  const TinyRuns runs;
  runs.must_train("run", kValidated);

  const auto done = runs.run({"report", "run", "--picture", "actions.svg"});

  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK_THAT(done.out, Catch::Contains("run/report.html"));
  CHECK_THAT(file_content(runs.path() / "actions.svg"), Catch::Contains("joint_position"));
  const auto page = file_content(runs.path() / "run" / "report.html");
  for (const char* part :
       {"<svg", "loss", "validation", "preset: tiny-5b", "joint_position", "samples"}) {
    INFO(part);
    CHECK((page.find(part) != std::string::npos));
  }
  for (const char* part : {"<link", "src=", "@import", "url(", "fetch("}) {
    INFO(part);
    CHECK((page.find(part) == std::string::npos));
  }
}
