#include "apps/wamtrain/dataset_checks.h"

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/data/dataset/arm_set.h"

namespace {

wam::DatasetSection section(const std::filesystem::path& folder) {
  wam::DatasetSection out;
  out.path = folder;
  out.embodiment = WAM_SOURCE_DIR "/configs/embodiment/tiny.yaml";
  return out;
}

// The problems of a recipe with these datasets, or nothing.
std::string problems_of(const std::vector<wam::DatasetSection>& datasets) {
  wam::DataSection data;
  data.datasets = datasets;
  wam::Problems problems("recipe.yaml");
  static_cast<void>(wam::check_datasets(data, problems));
  try {
    problems.throw_if_any();
  } catch (const wam::ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("datasets: pictures of different sizes are refused before the run, with both sizes") {
  const wam::test::TempFolder folder;
  wam::test::write_arm_set(folder.path() / "one");
  wam::test::write_arm_set(folder.path() / "other", {.height = 48});
  const auto one = section(folder.path() / "one");
  const auto other = section(folder.path() / "other");

  CHECK(problems_of({one, one}).empty());
  CHECK(problems_of({other}).empty());
  CHECK_THAT(problems_of({one, other}),
             Catch::Contains("data.datasets.1.path: its pictures are 48x64, those of the first "
                             "dataset 32x64") &&
                 Catch::Contains("Fix:"));
}

TEST_CASE("datasets: episodes that are not there are refused before the run") {
  const wam::test::TempFolder folder;
  wam::test::write_arm_set(folder.path());
  auto set = section(folder.path());
  set.episodes = {"2:"};
  CHECK(problems_of({set}).empty());
  set.episodes = {"4:9"};
  CHECK_THAT(problems_of({set}),
             Catch::Contains("data.datasets.0.path") && Catch::Contains("4:9 names no episode"));
  set.episodes = {"many"};
  CHECK_THAT(problems_of({set}), Catch::Contains("'many' is neither the number"));
}
