#pragma once

#include <map>
#include <string>

#include "core/base/errors.h"
#include "parallel/launch/launch_env.h"

namespace wam::test {

using Variables = std::map<std::string, std::string>;

inline LaunchEnv read(const Variables& variables) {
  return read_launch_env([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

// Both; what `more` names wins.
inline Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

// The message that reading ends in.
inline std::string fault(const Variables& variables) {
  try {
    read(variables);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

// Rank 5 of 8 on two hosts of four, as each launcher says it.
inline const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "5"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                {"OMPI_MCA_ess_base_jobid", "1951072257"}};
inline const Variables kMpich{
    {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}};
inline const Variables kSlurm{{"SLURM_PROCID", "5"},  {"SLURM_NTASKS", "8"},
                              {"SLURM_LOCALID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                              {"SLURM_NODEID", "1"},  {"SLURM_JOB_ID", "77"},
                              {"SLURM_STEP_ID", "0"}};
inline const Variables kTorchrun{{"RANK", "5"},
                                 {"WORLD_SIZE", "8"},
                                 {"LOCAL_RANK", "1"},
                                 {"LOCAL_WORLD_SIZE", "4"},
                                 {"TORCHELASTIC_RUN_ID", "run/9"},
                                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                 {"MASTER_ADDR", "node0"},
                                 {"MASTER_PORT", "29500"}};
// The daemons that mpirun starts through srun: one a host.
inline const Variables kSlurmDaemon{{"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "2"},
                                    {"SLURM_LOCALID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                    {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "3"}};

}  // namespace wam::test
