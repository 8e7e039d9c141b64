#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/base/names.h"

namespace wam {

// Who started this process. kMpich: any mpiexec that speaks PMI (MPICH, Intel MPI, Cray).
enum class Launcher { kNone, kTorchrun, kOpenMpi, kMpich, kSlurm };

template <>
struct EnumNames<Launcher> {
  static constexpr std::array table{
      std::pair{Launcher::kNone, "none"}, std::pair{Launcher::kTorchrun, "torchrun"},
      std::pair{Launcher::kOpenMpi, "openmpi"}, std::pair{Launcher::kMpich, "mpich"},
      std::pair{Launcher::kSlurm, "slurm"}};
};

// MASTER_ADDR and MASTER_PORT: where the ranks meet.
struct MasterAddress {
  std::string host;
  int port = 0;
  bool served_by_launcher = false;  // torchrun's agent holds the store: rank 0 does not open one
};

// This process among those of its start.
struct LaunchEnv {
  Launcher launcher = Launcher::kNone;
  int global_rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;
  std::string host;    // as the machine calls itself
  std::string job_id;  // equal on all ranks of a start; empty where the launcher gives none
  int attempt = 0;     // how often the launcher started this job before
  std::optional<MasterAddress> master;
};

// The value of an environment variable, or nothing.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;

// Reads what the launcher left in the environment; without any of it, a start of one rank.
//
// Launchers nest: torchrun runs under mpirun or srun, mpirun inside a Slurm allocation. The
// innermost one that is present started this process and decides: torchrun (RANK), Open MPI
// (OMPI_COMM_WORLD_RANK), PMI (PMI_RANK), Slurm (SLURM_PROCID in a step, that is with
// SLURM_STEP_ID). One further out does not contradict it when it names the same rank and size, or
// has a size of 1, or runs one process a node, as the daemons of an inner launcher are. RANK and
// WORLD_SIZE set by hand (no TORCHELASTIC_RUN_ID) have no daemons: the last of these does not apply
// to them. What the innermost leaves out (LOCAL_RANK set by hand, PMI under srun) comes from one
// further out that names the same rank and size.
//
// Errors: ConfigError with all problems: launchers that contradict each other, rank >= size, one of
// the two without the other, values that are no numbers, no local rank, half of MASTER_ADDR and
// MASTER_PORT, an allocation of several tasks whose program was started without srun.
LaunchEnv read_launch_env(const GetVariable& variable);

// The variables of this process.
GetVariable process_environment();

}  // namespace wam
