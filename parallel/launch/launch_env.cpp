#include "parallel/launch/launch_env.h"

#include <cstdlib>
#include <vector>

#include "core/base/errors.h"
#include "core/base/host_name.h"
#include "parallel/launch/claims.h"

namespace wam {
namespace {

bool may_surround(const Claim& outer, const Claim& inner) {
  return outer.agrees_with(inner) || outer.size.value == 1 ||
         (inner.has_daemons && outer.one_per_node);
}

void check_nesting(VariableReader& reader, const std::vector<Claim>& claims) {
  const Claim& inner = claims.front();
  for (std::size_t i = 1; i < claims.size(); ++i) {
    const Claim& outer = claims[i];
    if (may_surround(outer, inner)) continue;
    reader.note(fmt::format(
        "two launchers contradict each other: {} says rank {} of {} ({}, {}), {} says rank {} of "
        "{} "
        "({}, {}). Fix: start the program with one of them, or unset the variables that the other "
        "left behind.",
        spoken_name(inner.launcher), inner.rank.value, inner.size.value, inner.rank.text,
        inner.size.text, spoken_name(outer.launcher), outer.rank.value, outer.size.value,
        outer.rank.text, outer.size.text));
  }
}

// The innermost claim, completed by those further out that mean the same process.
Claim complete_claim(const std::vector<Claim>& claims) {
  Claim claim = claims.front();
  for (const Claim& outer : claims) {
    if (!outer.agrees_with(claim)) continue;
    if (!claim.local_rank) claim.local_rank = outer.local_rank;
    if (!claim.local_size) claim.local_size = outer.local_size;
    if (claim.job_id.empty()) claim.job_id = outer.job_id;
  }
  if (claim.size.value == 1) {
    if (!claim.local_rank) claim.local_rank = Setting{"local rank 0", 0};
    if (!claim.local_size) claim.local_size = Setting{"local size 1", 1};
  }
  return claim;
}

std::string local_variables(Launcher launcher) {
  switch (launcher) {
    case Launcher::kTorchrun:
      return "LOCAL_RANK and LOCAL_WORLD_SIZE";
    case Launcher::kOpenMpi:
      return "OMPI_COMM_WORLD_LOCAL_RANK and OMPI_COMM_WORLD_LOCAL_SIZE";
    case Launcher::kMpich:
      return "MPI_LOCALRANKID and MPI_LOCALNRANKS";
    case Launcher::kSlurm:
      return "SLURM_LOCALID and SLURM_STEP_TASKS_PER_NODE";
    case Launcher::kNone:
      break;
  }
  return {};
}

void check_local(VariableReader& reader, const Claim& claim) {
  if (!claim.local_rank || !claim.local_size) {
    reader.note(
        fmt::format("{} gives {} and {}, but not this process's place on its host, which "
                    "decides its GPU. Fix: set {}.",
                    spoken_name(claim.launcher), claim.rank.text, claim.size.text,
                    local_variables(claim.launcher)));
    return;
  }
  if (claim.local_rank->value >= claim.local_size->value) {
    reader.note(fmt::format(
        "{} does not fit {}: local ranks count from 0 to size - 1. Fix: correct "
        "{}.",
        claim.local_rank->text, claim.local_size->text, local_variables(claim.launcher)));
  }
  if (claim.local_size->value > claim.size.value) {
    reader.note(
        fmt::format("{} does not fit {}: a host cannot hold more ranks than there are. Fix: "
                    "correct {}.",
                    claim.local_size->text, claim.size.text, local_variables(claim.launcher)));
  }
}

// A plain start is one rank; variables that speak of several without a launcher are a mistake.
void check_plain_start(VariableReader& reader) {
  const auto tasks = reader.has("SLURM_STEP_ID") ? std::nullopt : reader.number("SLURM_NTASKS");
  if (tasks && tasks->value > 1) {
    reader.note(
        fmt::format("{}: the Slurm allocation is for {} tasks, but this process was started "
                    "without srun. Fix: put srun before the command, or srun -n 1 for one "
                    "rank.",
                    tasks->text, tasks->value));
  }
  if (const auto rank = reader.text("PMIX_RANK"); rank && !reader.has("SLURM_STEP_ID")) {
    reader.note(
        fmt::format("PMIX_RANK={} gives a rank, but nothing the number of ranks. Fix: start "
                    "with mpirun or srun, or set RANK, WORLD_SIZE, LOCAL_RANK and "
                    "LOCAL_WORLD_SIZE.",
                    *rank));
  }
}

std::optional<MasterAddress> read_master(VariableReader& reader) {
  const auto host = reader.text("MASTER_ADDR");
  const auto text = reader.text("MASTER_PORT");
  if (!host && !text) return std::nullopt;
  const auto port = reader.number("MASTER_PORT");
  if (!host || !text) {
    reader.note(
        fmt::format("{} is set, but {} is not. Fix: set both, or unset {} to meet through "
                    "the run folder.",
                    host ? "MASTER_ADDR=" + *host : "MASTER_PORT=" + *text,
                    host ? "MASTER_PORT" : "MASTER_ADDR", host ? "MASTER_ADDR" : "MASTER_PORT"));
    return std::nullopt;
  }
  if (!port) return std::nullopt;
  if (port->value < 1 || port->value > 65535) {
    reader.note(fmt::format("{} is no port. Fix: choose one from 1 to 65535.", port->text));
  }
  return MasterAddress{*host, port->value, reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True"};
}

int read_attempt(VariableReader& reader, Launcher launcher) {
  // mpirun restarts nothing, and its ranks on other hosts need not see Slurm's variables.
  if (launcher == Launcher::kOpenMpi) return 0;
  const bool elastic = launcher == Launcher::kTorchrun && reader.has("TORCHELASTIC_RESTART_COUNT");
  const auto count = reader.number(elastic ? "TORCHELASTIC_RESTART_COUNT" : "SLURM_RESTART_COUNT");
  return count ? count->value : 0;
}

}  // namespace

LaunchEnv read_launch_env(const GetVariable& variable) {
  VariableReader reader(variable);
  LaunchEnv env;
  env.host = host_name().value_or("localhost");
  const std::vector<Claim> claims = read_claims(reader);
  if (claims.empty()) {
    // A faulty claim has said what is wrong already.
    if (reader.problems().empty()) check_plain_start(reader);
  } else {
    check_nesting(reader, claims);
    const Claim claim = complete_claim(claims);
    check_local(reader, claim);
    env.launcher = claim.launcher;
    env.global_rank = claim.rank.value;
    env.world_size = claim.size.value;
    if (claim.local_rank) env.local_rank = claim.local_rank->value;
    if (claim.local_size) env.local_world_size = claim.local_size->value;
    env.job_id = claim.job_id;
    env.attempt = read_attempt(reader, claim.launcher);
    env.master = read_master(reader);
  }
  if (!reader.problems().empty()) {
    std::vector<std::string> problems;
    for (const auto& p : reader.problems())
      problems.push_back("reading the launcher's variables: " + p);
    throw ConfigError::of(problems);
  }
  return env;
}

GetVariable process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

}  // namespace wam
