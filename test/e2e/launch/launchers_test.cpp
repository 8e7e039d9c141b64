#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <fmt/core.h>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"

// scripts/launch: every example trains the tiny model on two ranks. Open MPI is the real one; Slurm
// and torchrun are stubs (bin/) that set their variables.

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::quoted;
using wam::test::TinyRuns;

namespace {

const TinyRuns::Overrides kSharded{"parallel.strategy=full_shard", "train.micro_batch=2",
                                   "run.timeout_s=60"};

// The words of `train`, without that word.
std::string recipe_words(const TinyRuns& runs, const TinyRuns::Overrides& more) {
  auto overrides = kSharded;
  overrides.insert(overrides.end(), more.begin(), more.end());
  auto words = runs.arguments("train", "run", overrides);
  words.erase(words.begin());
  return quoted(words);
}

// Variables of an example: the program, two ranks, stubs first on the path; mpirun as root and on
// fewer cores than ranks.
const std::string kSettings = R"(
export WAMTRAIN=)" WAM_PROGRAM R"( RANKS=2 PATH=)" WAM_SOURCE_DIR R"(/test/e2e/launch/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Sends a signal to the process once the run is in its steps, and waits for it.
stop_in_steps() {
  until [[ -s run/metrics.jsonl ]] || ! kill -0 "$1"; do sleep 0.05; done
  kill -s "$2" "$1"
  wait "$1"
}
)";

// As sbatch starts a script: in the folder of submission, with the allocation's variables.
const std::string kBatch = R"(
ln -s "$scripts" scripts
export SLURM_JOB_ID=77 SLURM_NTASKS=2 SLURM_CPUS_PER_TASK=3
)";

const TinyRuns::Overrides kShort{"train.steps=3"};
const TinyRuns::Overrides kEndless{"train.steps=100000", "checkpoint.every=0"};

void check_finished(const TinyRuns& runs) {
  CHECK(runs.losses("run").size() == 3);
  CHECK(std::filesystem::exists(runs.checkpoint("run", 3) / "shard_00001_of_00002.safetensors"));
  CHECK(std::filesystem::exists(runs.path() / "run/rank_logs/00001.txt"));
}

void check_stopped(const TinyRuns& runs) {
  CHECK_THAT(file_content(runs.path() / "run/log.txt"),
             Contains("SIGUSR1 received by rank") && Contains("stopped; the same command goes on"));
  CHECK(std::filesystem::exists(runs.path() / "run/checkpoints/latest"));
}

std::string said(const TinyRuns& runs) {
  return file_content(runs.path() / "said");
}

bool skip_without_mpirun() {
  if (*WAM_MPIRUN != '\0') return false;
  std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
  return true;
}

}  // namespace

TEST_CASE("launch: mpirun on one machine trains on two ranks") {
  if (skip_without_mpirun()) return;
  const TinyRuns runs;

  const int code =
      bash(runs.path(), kSettings + "$scripts/launch/mpirun.sh" + recipe_words(runs, kShort));

  INFO(said(runs));
  CHECK(code == 0);
  check_finished(runs);
}

TEST_CASE("launch: SIGTERM to the mpirun example saves and ends it with 0") {
  if (skip_without_mpirun()) return;
  const TinyRuns runs;

  const int code =
      bash(runs.path(), kSettings + "$scripts/launch/mpirun.sh" + recipe_words(runs, kEndless) +
                            " &\nstop_in_steps $! TERM\n");

  INFO(said(runs));
  CHECK(code == 0);
  check_stopped(runs);
}

TEST_CASE("launch: mpirun with a hostfile") {
  if (skip_without_mpirun()) return;
  const TinyRuns runs;
  std::ofstream(runs.path() / "hosts") << "localhost slots=2\n";

  const int code =
      bash(runs.path(), kSettings + "export NCCL_DEBUG=WARN\n" +
                            "$scripts/launch/mpirun_hosts.sh hosts" + recipe_words(runs, kShort));

  INFO(said(runs));
  CHECK(code == 0);
  check_finished(runs);
}

TEST_CASE("launch: the Slurm example trains to the end, and stays out of the queue") {
  const TinyRuns runs;

  const int code = bash(runs.path(), kSettings + kBatch + "bash scripts/launch/slurm.sbatch" +
                                         recipe_words(runs, kShort));

  INFO(said(runs));
  CHECK(code == 0);
  check_finished(runs);
  CHECK_THAT(file_content(runs.path() / "srun_calls"),
             Contains("--cpus-per-task=3 --kill-on-bad-exit=0"));
  CHECK_FALSE(std::filesystem::exists(runs.path() / "scontrol_calls"));
}

TEST_CASE("launch: the Slurm example saves before the time limit, and is queued again") {
  const TinyRuns runs;

  const int code =
      bash(runs.path(), kSettings + kBatch + "bash scripts/launch/slurm.sbatch" +
                            recipe_words(runs, kEndless) + " &\nstop_in_steps $! USR1\n");

  INFO(said(runs));
  CHECK(code == 0);
  check_stopped(runs);
  CHECK(file_content(runs.path() / "scontrol_calls") == "scontrol requeue 77\n");
}

TEST_CASE("launch: the Slurm example goes on after a rank was killed, and ends at a bad recipe") {
  const TinyRuns runs;
  // Rank 1 of the first start is killed when there is a checkpoint.
  const std::string killer = R"(
cat >rank.sh <<'END'
#!/usr/bin/env bash
[[ $SLURM_PROCID == 0 || -e victim ]] || echo $$ >victim
exec )" WAM_PROGRAM R"( "$@"
END
chmod +x rank.sh
export WAMTRAIN=./rank.sh
(until [[ -e run/checkpoints/latest ]]; do sleep 0.05; done; kill -KILL $(cat victim)) &
)";

  const int code =
      bash(runs.path(), kSettings + kBatch + killer + "bash scripts/launch/slurm.sbatch" +
                            recipe_words(runs, {"train.steps=200", "checkpoint.every=5"}));

  INFO(said(runs));
  CHECK(code == 0);
  CHECK_THAT(said(runs), Contains("starting again") && Contains("resuming from run/checkpoints"));
  CHECK(runs.losses("run").size() == 200);
  CHECK(bash(runs.path(), kSettings + "bash scripts/launch/slurm.sbatch" +
                              recipe_words(runs, {"train.stepz=1"})) == 2);
}

TEST_CASE("launch: torchrun trains on two ranks") {
  const TinyRuns runs;

  const int code =
      bash(runs.path(), kSettings +
                            "export STUB_PORT=$(python3 -c 'import socket; "
                            "s = socket.socket(); s.bind((\"127.0.0.1\", 0)); "
                            "print(s.getsockname()[1])')\n" +
                            "$scripts/launch/torchrun.sh" + recipe_words(runs, kShort));

  INFO(said(runs));
  CHECK(code == 0);
  check_finished(runs);
  CHECK_THAT(file_content(runs.path() / "torchrun_calls"),
             Contains("--no-python --nnodes 1 --nproc-per-node 2"));
}
