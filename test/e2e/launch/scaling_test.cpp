// scripts/scaling.py with the tiny model on ranks of this machine.
#include <filesystem>
#include <fstream>
#include <string>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::TinyRuns;

namespace {

int scaling(const TinyRuns& runs, const std::string& options) {
  return bash(runs.path(), "export WAMTRAIN=" WAM_PROGRAM "\n$scripts/scaling.py " + options);
}

}  // namespace

TEST_CASE("scaling: rows that are measured stay, and one table has them all") {
  const TinyRuns runs;

  const int code = scaling(runs, "tiny --gpus 1 --out rows");

  INFO(file_content(runs.path() / "said"));
  REQUIRE(code == 0);
  const std::string table = file_content(runs.path() / "rows/table.md");
  for (const char* strategy : {"no_shard", "shard_grad_op", "full_shard"}) {
    CHECK_THAT(table, Contains("| tiny | `" + std::string(strategy) + "` | 1 | 2, `none` | ") &&
                          Contains(" | 100.0 % | "));
  }
  const auto row = runs.path() / "rows/tiny_no_shard_1gpu_mb2_none.json";
  const auto written = std::filesystem::last_write_time(row);
  CHECK(scaling(runs, "tiny --gpus 1 --out rows") == 0);
  CHECK(std::filesystem::last_write_time(row) == written);
}

TEST_CASE("scaling: a row that fails is said, is none of the table, and costs the exit code") {
  const TinyRuns runs;

  CHECK(scaling(runs, "14b_full_shard --gpus 1 --out rows") ==
        0);  // the plan knows, nothing starts
  CHECK_THAT(file_content(runs.path() / "rows/table.md"), Contains("| does not fit |"));
  CHECK(bash(runs.path(), "export WAMTRAIN=false\n$scripts/scaling.py tiny --gpus 1 --out none") ==
        1);
  CHECK_THAT(file_content(runs.path() / "said"),
             Contains("tiny_no_shard_1gpu_mb2_none: exit code 1"));
}

TEST_CASE("scaling: a row takes as many blocks recomputed whole as the plan asks for") {
  const TinyRuns runs;
  {
    std::ofstream program(runs.path() / "program");
    program << R"(#!/usr/bin/env bash
blocks=$(grep -o 'memory.first_blocks=[0-9]*' <<< "$*" | grep -o '[0-9]*$')
if [[ $1 == plan ]]; then
  fits=true
  if [[ -n $blocks ]] && ((blocks < 12)); then fits=false; fi
  echo "{\"strategies\": [{\"is_of_recipe\": true, \"fits\": $fits}]}"
else
  echo '{"figures": {"samples_s": {"value": 3}, "peak_bytes": {"value": 1073741824}}}'
fi
)";
  }
  REQUIRE(bash(runs.path(),
               "chmod +x program\nexport WAMTRAIN=$PWD/program\n$scripts/scaling.py "
               "14b_hybrid_shard --gpus 1 --out rows") == 0);
  const std::string table = file_content(runs.path() / "rows/table.md");
  INFO(table);
  CHECK_THAT(table, Contains("| 1, `norms`, 12 blocks `full` | 3 | "));
  CHECK_THAT(table, Contains("| 2, `full` | 3 | "));
}

TEST_CASE("scaling: the elastic check compares a run that lost half of its ranks") {
  if (std::string(WAM_MPIRUN).empty()) {
    WARN("SKIPPED: no mpirun");
    return;
  }
  const TinyRuns runs;

  const int code = scaling(runs,
                           "elastic --gpus 2 --device cpu --out rows -- --allow-run-as-root "
                           "--oversubscribe");

  INFO(file_content(runs.path() / "said"));
  CHECK(code == 0);
  CHECK_THAT(file_content(runs.path() / "rows/table.md"),
             Contains("Elastic: saved on 2, resumed on 1: 10 steps of the same samples"));
}
