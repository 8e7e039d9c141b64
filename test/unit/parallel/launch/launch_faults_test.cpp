#include "test/support/catch.h"
#include "test/unit/parallel/launch/variables.h"

using Catch::Contains;
using namespace wam::test;

TEST_CASE("LaunchEnv: two launchers of different rank or size are named with their values") {
  // srun starts four mpiruns of two ranks each.
  const Variables srun{{"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "4"},
                       {"SLURM_LOCALID", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "4"},
                       {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "77"}};
  const std::string nested = fault(with(kOpenMpi, srun));
  CHECK_THAT(nested, Contains("two launchers contradict each other: Open MPI says rank 5 of 8 "
                              "(OMPI_COMM_WORLD_RANK=5, OMPI_COMM_WORLD_SIZE=8), Slurm says rank 3 "
                              "of 4 (SLURM_PROCID=3, SLURM_NTASKS=4). Fix: "));

  // RANK and WORLD_SIZE of a shell profile, under mpirun: also with one rank a host.
  const Variables profile{{"RANK", "0"}, {"WORLD_SIZE", "1"}};
  CHECK_THAT(fault(with(kOpenMpi, profile)),
             Contains("torchrun says rank 0 of 1 (RANK=0, WORLD_SIZE=1)"));
  CHECK_THAT(fault(with(kSlurmDaemon, profile)), Contains("Slurm says rank 1 of 2"));

  // Equal sizes, other ranks.
  CHECK_THAT(fault(with(kOpenMpi, with(kMpich, {{"PMI_RANK", "4"}}))), Contains("PMI_RANK=4"));
}

TEST_CASE("LaunchEnv: half of a pair, a rank beyond the size, what is no number") {
  CHECK_THAT(fault({{"WORLD_SIZE", "4"}}), Contains("WORLD_SIZE=4 is set, but RANK is not"));
  CHECK_THAT(fault({{"PMI_RANK", "1"}}), Contains("PMI_RANK=1 is set, but PMI_SIZE is not"));
  CHECK_THAT(fault({{"PMIX_RANK", "1"}}), Contains("PMIX_RANK=1 gives a rank, but nothing"));
  CHECK_THAT(fault(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "8"}})),
             Contains("OMPI_COMM_WORLD_RANK=8 does not fit OMPI_COMM_WORLD_SIZE=8: ranks count"));
  CHECK_THAT(fault(with(kTorchrun, {{"RANK", "five"}})),
             Contains("RANK=five is not a whole number from 0 on. Fix: "));
  CHECK_THAT(fault(with(kTorchrun, {{"RANK", "-1"}})), Contains("RANK=-1 is not a whole number"));
  CHECK_THAT(fault(with(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "4x2"}})),
             Contains("SLURM_STEP_TASKS_PER_NODE=4x2 is no list of tasks a node"));
  CHECK_THAT(fault(with(kTorchrun, {{"MASTER_PORT", ""}})),
             Contains("MASTER_ADDR=node0 is set, but MASTER_PORT is not"));
  CHECK_THAT(fault(with(kTorchrun, {{"MASTER_PORT", "70000"}})),
             Contains("MASTER_PORT=70000 is no port"));
}

TEST_CASE("LaunchEnv: the place on the host must be known and fit") {
  CHECK_THAT(fault({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
             Contains("torchrun gives RANK=1 and WORLD_SIZE=2, but not this process's place on its "
                      "host, which decides its GPU. Fix: set LOCAL_RANK and LOCAL_WORLD_SIZE."));
  CHECK_THAT(fault(with(kTorchrun, {{"LOCAL_RANK", "4"}})),
             Contains("LOCAL_RANK=4 does not fit LOCAL_WORLD_SIZE=4"));
  CHECK_THAT(fault(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})),
             Contains("LOCAL_WORLD_SIZE=9 does not fit WORLD_SIZE=8: a host cannot hold more"));
}

TEST_CASE("LaunchEnv: an allocation of several tasks needs srun") {
  CHECK_THAT(fault({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}),
             Contains("SLURM_NTASKS=8: the Slurm allocation is for 8 tasks, but this process was "
                      "started without srun. Fix: put srun before the command"));
}

TEST_CASE("LaunchEnv: all problems at once") {
  const std::string text = fault(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "9"},
                                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "4"},
                                                 {"PMI_SIZE", "8"},
                                                 {"MASTER_PORT", "1"}}));
  CHECK_THAT(text, Contains("4 problems:"));
  CHECK_THAT(text, Contains("OMPI_COMM_WORLD_RANK=9 does not fit"));
  CHECK_THAT(text, Contains("OMPI_COMM_WORLD_LOCAL_RANK=4 does not fit"));
  CHECK_THAT(text, Contains("PMI_SIZE=8 is set, but PMI_RANK is not"));
  CHECK_THAT(text, Contains("MASTER_PORT=1 is set, but MASTER_ADDR is not"));
}
