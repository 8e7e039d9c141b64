#include "parallel/launch/launch_env.h"

#include <vector>

#include "parallel/launch/claims.h"
#include "test/support/catch.h"
#include "test/unit/parallel/launch/variables.h"

using wam::LaunchEnv;
using wam::Launcher;
using wam::parse_tasks_per_node;
using namespace wam::test;

namespace {

void check_rank_5_of_8(const LaunchEnv& env, Launcher launcher) {
  CHECK(wam::name_of(env.launcher) == wam::name_of(launcher));
  CHECK(env.global_rank == 5);
  CHECK(env.world_size == 8);
  CHECK(env.local_rank == 1);
  CHECK(env.local_world_size == 4);
  CHECK_FALSE(env.host.empty());
}

}  // namespace

TEST_CASE("LaunchEnv: a plain start is one rank") {
  const LaunchEnv env = read({{"MASTER_ADDR", "left over"}, {"RANK", ""}});

  CHECK(env.launcher == Launcher::kNone);
  CHECK(env.global_rank == 0);
  CHECK(env.world_size == 1);
  CHECK(env.local_rank == 0);
  CHECK(env.local_world_size == 1);
  CHECK_FALSE(env.master);
}

TEST_CASE("LaunchEnv: every launcher's own variables") {
  check_rank_5_of_8(read(kOpenMpi), Launcher::kOpenMpi);
  CHECK(read(kOpenMpi).job_id == "1951072257");
  CHECK(read(with(kOpenMpi, {{"PMIX_NAMESPACE", "prterun-a@1"}})).job_id == "prterun-a@1");

  check_rank_5_of_8(read(kMpich), Launcher::kMpich);
  CHECK(read(kMpich).job_id.empty());

  check_rank_5_of_8(read(kSlurm), Launcher::kSlurm);
  CHECK(read(kSlurm).job_id == "77.0");
  CHECK(read(kSlurm).attempt == 0);
  CHECK(read(with(kSlurm, {{"SLURM_RESTART_COUNT", "3"}})).attempt == 3);

  const LaunchEnv torchrun = read(kTorchrun);
  check_rank_5_of_8(torchrun, Launcher::kTorchrun);
  CHECK(torchrun.job_id == "run/9");
  CHECK(torchrun.attempt == 2);
  REQUIRE(torchrun.master);
  CHECK(torchrun.master->host == "node0");
  CHECK(torchrun.master->port == 29500);
  CHECK(torchrun.master->served_by_launcher);
}

TEST_CASE("LaunchEnv: Slurm's tasks on this host, uneven, by limit, and of a step") {
  CHECK(read(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "6,2"}})).local_world_size == 2);
  auto limit = with(kSlurm, {{"SLURM_NTASKS_PER_NODE", "4"}});
  limit.erase("SLURM_STEP_TASKS_PER_NODE");
  CHECK(read(limit).local_world_size == 4);
  CHECK(read(with(limit, {{"SLURM_NTASKS_PER_NODE", "16"}})).local_world_size == 8);
  CHECK(read(with(kSlurm, {{"SLURM_NTASKS", "64"}, {"SLURM_STEP_NUM_TASKS", "8"}})).world_size ==
        8);

  CHECK(parse_tasks_per_node("2(x3),1") == std::vector<int>{2, 2, 2, 1});
  CHECK(parse_tasks_per_node("8") == std::vector<int>{8});
  for (const char* text : {"", "2(x", "2(x)", "x3", "2,", "2(x0)", "2(x99999999)", "-1"}) {
    INFO(text);
    CHECK_FALSE(parse_tasks_per_node(text));
  }
}

TEST_CASE("LaunchEnv: the innermost launcher decides, its daemons and a batch script are none") {
  const Variables batch{{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}};

  // mpirun in a batch script, on the first host and through its daemons on the others.
  check_rank_5_of_8(read(with(kOpenMpi, batch)), Launcher::kOpenMpi);
  check_rank_5_of_8(read(with(kOpenMpi, kSlurmDaemon)), Launcher::kOpenMpi);
  CHECK(read(with(kOpenMpi, kSlurmDaemon)).job_id == read(with(kOpenMpi, batch)).job_id);
  check_rank_5_of_8(read(with(kMpich, kSlurmDaemon)), Launcher::kMpich);
  CHECK(read(with(kMpich, kSlurmDaemon)).job_id == "77");
  // torchrun, started once a host by srun or by mpirun.
  check_rank_5_of_8(read(with(kTorchrun, kSlurmDaemon)), Launcher::kTorchrun);
  check_rank_5_of_8(read(with(kTorchrun, {{"OMPI_COMM_WORLD_RANK", "1"},
                                          {"OMPI_COMM_WORLD_SIZE", "2"},
                                          {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}})),
                    Launcher::kTorchrun);
  // A step of one task that holds an interactive shell.
  check_rank_5_of_8(read(with(kOpenMpi, {{"SLURM_STEP_ID", "0"},
                                         {"SLURM_PROCID", "0"},
                                         {"SLURM_NTASKS", "16"},
                                         {"SLURM_STEP_NUM_TASKS", "1"}})),
                    Launcher::kOpenMpi);
  // One task of a batch script without srun.
  CHECK(read({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).world_size ==
        1);
}

TEST_CASE("LaunchEnv: what a wrapper or PMI leaves out comes from the launcher that agrees") {
  // srun --mpi=pmi2 has no MPI_LOCALRANKID.
  const LaunchEnv pmi =
      read(with(kSlurm, {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"PMI_JOBID", "77.0"}}));
  check_rank_5_of_8(pmi, Launcher::kMpich);
  CHECK(pmi.job_id == "77.0");

  // A script with export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS.
  const LaunchEnv script = read(with(kSlurm, {{"RANK", "5"},
                                              {"WORLD_SIZE", "8"},
                                              {"SLURM_RESTART_COUNT", "1"},
                                              {"MASTER_ADDR", "10.0.0.1"},
                                              {"MASTER_PORT", "1234"}}));
  check_rank_5_of_8(script, Launcher::kTorchrun);
  CHECK(script.job_id == "77.0");
  CHECK(script.attempt == 1);
  REQUIRE(script.master);
  CHECK_FALSE(script.master->served_by_launcher);
}
