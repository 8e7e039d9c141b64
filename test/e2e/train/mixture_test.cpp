#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "core/io/hash.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Runs on several datasets.

using nlohmann::ordered_json;
using wam::test::TinyRuns;

namespace {

const TinyRuns::Overrides kMixture = {
    "data.datasets=[{path: data, embodiment: tiny, weight: 4}, {path: second, embodiment: tiny}]",
    "train.schedule=constant"};

TinyRuns::Overrides steps(int count, bool bug_compatible = false) {
  auto out = kMixture;
  out.push_back("train.steps=" + std::to_string(count));
  out.push_back(std::string("data.bug_compatible=") + (bug_compatible ? "true" : "false"));
  return out;
}

// As a version of before the order had a name wrote it.
void forget_order(const std::filesystem::path& manifest) {
  auto json = ordered_json::parse(wam::test::file_content(manifest));
  REQUIRE(json["data"].erase("order") == 1);
  json.erase("checksum");
  const std::string content = json.dump();
  json["checksum"] = wam::hash_hex(wam::content_hash(content.data(), content.size()));
  std::ofstream(manifest) << json.dump(1) << "\n";
}

}  // namespace

TEST_CASE("mixtures train, with exact shares and as the reference draws them") {
  const TinyRuns runs;
  runs.write_dataset("second", 2, 5);
  for (const bool bug_compatible : {false, true}) {
    const std::string run = bug_compatible ? "reference" : "exact";
    runs.must_train(run, steps(2, bug_compatible));
    CHECK(runs.losses(run).size() == 2);
  }
}

TEST_CASE("mixtures go on where they were, and a checkpoint of another order is refused") {
  const TinyRuns runs;
  runs.write_dataset("second", 2, 5);
  runs.must_train("whole", steps(4));
  runs.must_train("halves", steps(2));
  runs.must_train("halves", steps(4));
  CHECK(runs.losses("halves") == runs.losses("whole"));

  forget_order(runs.checkpoint("whole", 4) / "manifest.json");
  const auto refused = runs.train("whole", steps(6));

  INFO(refused.err);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Catch::Contains("order of the samples: checkpoint of a version that named none, run "
                             "exact shares of every 64") &&
                 Catch::Contains("Fix: "));
  CHECK(runs.losses("whole").size() == 4);
}
