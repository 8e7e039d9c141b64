#include "test/e2e/support/program.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::test::run_wamtrain;

TEST_CASE("command line: unknown commands and flags name the nearest one, exit 2") {
  const wam::test::TempFolder folder;

  const auto command = run_wamtrain({"pln", "r.yaml"}, folder.path());
  CHECK(command.exit_code == 2);
  CHECK_THAT(command.err,
             Catch::Contains("unknown command pln") && Catch::Contains("Fix: write plan."));

  const auto flag = run_wamtrain({"plan", "--jsn", "r.yaml"}, folder.path());
  CHECK(flag.exit_code == 2);
  CHECK_THAT(flag.err,
             Catch::Contains("unknown flag --jsn") && Catch::Contains("Fix: write --json"));

  const auto missing = run_wamtrain({"plan"}, folder.path());
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.err, Catch::Contains("RECIPE is required"));

  CHECK(run_wamtrain({}, folder.path()).exit_code == 2);
}

TEST_CASE("command line: --version names commit, LibTorch, CUDA and build") {
  const wam::test::TempFolder folder;
  const auto done = run_wamtrain({"--version"}, folder.path());
  CHECK(done.exit_code == 0);
  for (const char* word : {"wamtrain ", "commit ", "LibTorch ", "CUDA ", "build "}) {
    CHECK_THAT(done.out, Catch::Contains(word));
  }
}

TEST_CASE("command line: a recipe that cannot be read is named") {
  const wam::test::TempFolder folder;
  const auto done = run_wamtrain({"plan", "none.yaml"}, folder.path());
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains("cannot read the recipe none.yaml"));
}

TEST_CASE("command line: verify wants a folder") {
  const wam::test::TempFolder folder;
  const auto done = run_wamtrain({"verify", "none"}, folder.path());
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Catch::Contains("there is no folder none"));
}
