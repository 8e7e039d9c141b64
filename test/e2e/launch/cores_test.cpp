#include "core/base/cores.h"

#include <iostream>
#include <string>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// Threads and workers follow the cores that a process may use, and ranks that share them keep
// apart.

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::quoted;
using wam::test::TinyRuns;

namespace {

const std::string kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n" WAM_MPIRUN " ";

// A run of one step that decides itself how many threads it starts.
std::string train(const TinyRuns& runs, const std::string& run) {
  return " '" WAM_PROGRAM "'" + quoted(runs.arguments("train", run,
                                                      {"train.steps=1", "run.threads=auto",
                                                       "data.workers=auto", "run.timeout_s=60"}));
}

bool skip_without(bool there, const char* what) {
  if (!there) std::cout << "SKIPPED: " << what << "\n";
  return !there;
}

bool has_two_cores() {
  return wam::allowed_cores().size() >= 2 && !wam::cpu_quota();
}

}  // namespace

TEST_CASE("cores: threads and workers follow a narrow mask") {
  if (skip_without(has_two_cores(), "one core only, or a quota")) return;
  const TinyRuns runs;
  const auto all = wam::allowed_cores();
  const std::string last = std::to_string(all.back());

  CHECK(bash(runs.path(), "taskset -c " + last + train(runs, "narrow")) == 0);
  CHECK(bash(runs.path(), train(runs, "wide")) == 0);

  CHECK_THAT(file_content(runs.path() / "narrow/log.txt"),
             Contains("cores: " + last + "; threads: 1, workers: 1\n"));
  CHECK_THAT(file_content(runs.path() / "narrow/recipe.yaml"), Contains("threads: 1\n"));
  CHECK_THAT(file_content(runs.path() / "wide/log.txt"),
             Contains("cores: " + wam::cores_text(all) +
                      "; threads: " + std::to_string(all.size()) + ", "));
}

TEST_CASE("cores: ranks that share the machine divide it, unless run.pin is off") {
  if (skip_without(*WAM_MPIRUN != '\0', "mpirun was not found (openmpi-bin)")) return;
  const auto all = wam::allowed_cores();
  const bool two = all.size() == 2 && wam::reachable_cores() == all && has_two_cores();
  if (skip_without(two, "not two cores, or a quota")) return;
  const TinyRuns runs;
  const std::string start = kMpirun + "-np 2 --bind-to none";

  CHECK(bash(runs.path(), start + train(runs, "pinned")) == 0);
  CHECK(bash(runs.path(), start + train(runs, "off") + " --set run.pin=off") == 0);

  const std::string both = wam::cores_text(all);
  const std::string one = " of " + both + " (run.pin); threads: 1, workers: 1\n";
  CHECK_THAT(file_content(runs.path() / "pinned/log.txt"),
             Contains("cores: " + std::to_string(all[0]) + one));
  CHECK_THAT(file_content(runs.path() / "pinned/rank_logs/00001.txt"),
             Contains("cores: " + std::to_string(all[1]) + one));
  CHECK_THAT(file_content(runs.path() / "off/log.txt"),
             Contains("cores: " + both + "; threads: 1, workers: 1\n"));
}

TEST_CASE("cores: a rank that mpirun bound to one core says which flag helps, once") {
  if (skip_without(*WAM_MPIRUN != '\0', "mpirun was not found (openmpi-bin)")) return;
  if (skip_without(has_two_cores(), "one core only, or a quota")) return;
  const TinyRuns runs;

  CHECK(bash(runs.path(), kMpirun + "-np 1" + train(runs, "bound")) == 0);
  CHECK(bash(runs.path(), kMpirun + "-np 1 --bind-to none" + train(runs, "free")) == 0);

  CHECK_THAT(file_content(runs.path() / "bound/log.txt"),
             Contains("a rank may use 1 of the host's cores") && Contains("--bind-to none"));
  CHECK_THAT(file_content(runs.path() / "free/log.txt"), !Contains("--bind-to none"));
}
