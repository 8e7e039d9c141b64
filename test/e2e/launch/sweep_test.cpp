#include <string>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::quoted;
using wam::test::TinyRuns;

namespace {

int sweep(const TinyRuns& runs, const std::string& options) {
  auto words = runs.arguments("bench", "run", {});
  words.erase(words.begin());
  return bash(runs.path(), "export WAMTRAIN=" WAM_PROGRAM "\n$scripts/launch/sweep.py" +
                               quoted(words) + " --steps 1 --set run.device=cpu " + options);
}

}  // namespace

TEST_CASE("sweep: a table of all pairs, in which one that fails is a row") {
  const TinyRuns runs;

  // 9 do not fit into the global batch of 4.
  const int code = sweep(runs, "--micro-batch 2 9 --recompute none full");

  const std::string table = file_content(runs.path() / "sweep.md");
  INFO(file_content(runs.path() / "said"));
  CHECK(code == 0);
  for (const char* row :
       {"| 2 | `none` | ", "| 2 | `full` | ",
        "| 9 | `none` | | | | exit code 2: wamtrain: ", "| 9 | `full` | | | | exit code 2: ",
        "fastest: train.micro_batch: 2, memory.recompute: "}) {
    CHECK_THAT(table, Contains(row));
  }
  CHECK_THAT(file_content(runs.path() / "said"), Contains(table));
}

TEST_CASE("sweep: where every pair fails it says so, and leaves with 1") {
  const TinyRuns runs;

  const int code = sweep(runs,
                         "--what loop --micro-batch 4 --recompute full --out figures.md "
                         "--set model.preset=none");

  CHECK(code == 1);
  CHECK_THAT(file_content(runs.path() / "figures.md"),
             Contains("| 4 | `full` | | | | exit code 2"));
  CHECK_THAT(file_content(runs.path() / "said"), Contains("no pair could be measured"));
}
