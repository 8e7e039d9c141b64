#include "parallel/launch/claims.h"

#include <algorithm>
#include <charconv>

#include "core/base/errors.h"

namespace wam {
namespace {

constexpr int kMaxNodes = 1'000'000;

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 0) return std::nullopt;
  return value;
}

struct ClaimNames {
  Launcher launcher;
  const char* rank;
  const char* size;
};

// Rank and size, or nothing when the launcher is not there or its variables are no use.
std::optional<Claim> read_claim(VariableReader& reader, const ClaimNames& names) {
  const bool has_rank = reader.has(names.rank);
  const bool has_size = reader.has(names.size);
  if (!has_rank && !has_size) return std::nullopt;
  const auto rank = reader.number(names.rank);
  const auto size = reader.number(names.size);
  if (has_rank != has_size) {
    const char* there = has_rank ? names.rank : names.size;
    reader.note(fmt::format(
        "{}={} is set, but {} is not: a process needs its rank and the number of "
        "ranks. Fix: set both, or unset {}.",
        there, reader.text(there).value_or(""), has_rank ? names.size : names.rank, there));
  }
  if (!rank || !size) return std::nullopt;
  if (rank->value >= size->value) {
    reader.note(fmt::format(
        "{} does not fit {}: ranks count from 0 to size - 1. Fix: {}.", rank->text, size->text,
        names.launcher == Launcher::kTorchrun ? "correct RANK and WORLD_SIZE, or unset both"
                                              : "unset variables left behind by another start"));
  }
  Claim claim;
  claim.launcher = names.launcher;
  claim.rank = *rank;
  claim.size = *size;
  return claim;
}

std::string first_text(const VariableReader& reader, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto text = reader.text(name)) return *text;
  }
  return {};
}

void read_local(VariableReader& reader, Claim& claim, const char* rank, const char* size) {
  claim.local_rank = reader.number(rank);
  claim.local_size = reader.number(size);
  claim.one_per_node = claim.local_size && claim.local_size->value == 1;
}

void read_slurm_local(VariableReader& reader, Claim& claim) {
  constexpr const char* kList = "SLURM_STEP_TASKS_PER_NODE";
  claim.local_rank = reader.number("SLURM_LOCALID");
  const auto node = reader.number("SLURM_NODEID");
  const auto given = reader.number("SLURM_NTASKS_PER_NODE");
  if (given) {
    // A limit of the allocation: a smaller step does not reach it.
    claim.local_size = Setting{given->text, std::min(given->value, claim.size.value)};
    claim.one_per_node = given->value == 1;
  }
  const auto text = reader.text(kList);
  if (!text) return;
  const auto tasks = parse_tasks_per_node(*text);
  if (!tasks) {
    reader.note(
        fmt::format("{}={} is no list of tasks a node such as 2(x3),1. Fix: unset it, or "
                    "start with srun.",
                    kList, *text));
    return;
  }
  const int most = *std::max_element(tasks->begin(), tasks->end());
  const int least = *std::min_element(tasks->begin(), tasks->end());
  claim.one_per_node = most == 1;
  const std::string shown = fmt::format("{}={}", kList, *text);
  if (node && node->value < static_cast<int>(tasks->size())) {
    claim.local_size = Setting{fmt::format("{} (node {})", shown, node->value),
                               (*tasks)[static_cast<std::size_t>(node->value)]};
  } else if (most == least) {
    claim.local_size = Setting{shown, most};
  }
}

// Only a step (srun) starts tasks; the other variables also stand in the shell of an allocation.
std::optional<Claim> read_slurm(VariableReader& reader) {
  const auto step = reader.text("SLURM_STEP_ID");
  if (!step) return std::nullopt;
  const char* size = reader.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  auto claim = read_claim(reader, {Launcher::kSlurm, "SLURM_PROCID", size});
  if (!claim) return std::nullopt;
  read_slurm_local(reader, *claim);
  claim->job_id = fmt::format("{}.{}", reader.text("SLURM_JOB_ID").value_or("0"), *step);
  return claim;
}

}  // namespace

std::optional<std::string> VariableReader::text(const char* name) const {
  auto value = variable_(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::optional<Setting> VariableReader::number(const char* name) {
  const auto given = text(name);
  if (!given) return std::nullopt;
  const auto value = parse_number(*given);
  if (value) return Setting{fmt::format("{}={}", name, *given), *value};
  note(fmt::format("{}={} is not a whole number from 0 on. Fix: correct or unset it.", name,
                   *given));
  return std::nullopt;
}

std::string_view spoken_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::kTorchrun:
      return "torchrun";
    case Launcher::kOpenMpi:
      return "Open MPI";
    case Launcher::kMpich:
      return "MPICH (PMI)";
    case Launcher::kSlurm:
      return "Slurm";
    case Launcher::kNone:
      break;
  }
  return "no launcher";
}

std::optional<std::vector<int>> parse_tasks_per_node(std::string_view text) {
  std::vector<int> tasks;
  while (true) {
    const auto comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    std::optional<int> times = 1;
    if (const auto open = part.find("(x"); open != std::string_view::npos) {
      if (part.back() != ')') return std::nullopt;
      times = parse_number(part.substr(open + 2, part.size() - open - 3));
      part = part.substr(0, open);
    }
    const auto count = parse_number(part);
    if (!count || !times || *times == 0 || *times > kMaxNodes) return std::nullopt;
    tasks.insert(tasks.end(), static_cast<std::size_t>(*times), *count);
    if (comma == std::string_view::npos) return tasks;
    text.remove_prefix(comma + 1);
  }
}

std::vector<Claim> read_claims(VariableReader& reader) {
  std::vector<Claim> claims;
  if (auto claim = read_claim(reader, {Launcher::kTorchrun, "RANK", "WORLD_SIZE"})) {
    read_local(reader, *claim, "LOCAL_RANK", "LOCAL_WORLD_SIZE");
    claim->job_id = first_text(reader, {"TORCHELASTIC_RUN_ID"});
    claim->has_daemons = !claim->job_id.empty();
    claims.push_back(*claim);
  }
  if (auto claim = read_claim(
          reader, {Launcher::kOpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})) {
    read_local(reader, *claim, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
    claim->job_id = first_text(reader, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"});
    claims.push_back(*claim);
  }
  if (auto claim = read_claim(reader, {Launcher::kMpich, "PMI_RANK", "PMI_SIZE"})) {
    read_local(reader, *claim, "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
    // Not Slurm's step: the proxies of one mpiexec need not all be in one.
    claim->job_id = first_text(reader, {"PMI_JOBID", "PMIX_NAMESPACE", "SLURM_JOB_ID"});
    claims.push_back(*claim);
  }
  if (auto claim = read_slurm(reader)) claims.push_back(*claim);
  return claims;
}

}  // namespace wam
