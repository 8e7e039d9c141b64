// Ranks as processes on this host: meet_program, started by mpirun and by hand.

#include <fstream>
#include <iostream>
#include <list>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::test::by_torchrun;
using wam::test::free_port;
using wam::test::Listener;
using wam::test::RankProcess;
using wam::test::TempFolder;
using wam::test::Variables;

namespace {

constexpr const char* kLongLimitMs = "30000";
constexpr const char* kShortLimitMs = "2000";

Variables by_slurm(int rank, int size) {
  return {{"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_NTASKS", std::to_string(size)},
          {"SLURM_LOCALID", std::to_string(rank)},
          {"SLURM_STEP_TASKS_PER_NODE", std::to_string(size)},
          {"SLURM_JOB_ID", "77"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_RESTART_COUNT", "1"}};
}

// meet_program as one rank, its output in the folder.
struct Ranks {
  const TempFolder& folder;
  std::list<RankProcess> processes = {};

  RankProcess& start(const Variables& variables, const char* limit_ms) {
    const auto output = folder.path() / ("rank" + std::to_string(processes.size()));
    return processes.emplace_back(std::vector<std::string>{WAM_MEET_PROGRAM, run_dir(), limit_ms},
                                  variables, output);
  }
  [[nodiscard]] std::string run_dir() const { return (folder.path() / "run").string(); }
};

bool has_no_meeting_file(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(".rendezvous")) return false;
  }
  return true;
}

// Where rank 0 of by_slurm's job says that its store is; 0 until it does.
int port_in_file(const Ranks& ranks) {
  int port = 0;
  std::ifstream(std::filesystem::path(ranks.run_dir()) / ".rendezvous_77.0_1") >> port;
  return port;
}

// Connections that the kernel holds at a local port.
int connections_to(int port) {
  int count = 0;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);  // "  0: 0100007F:1F90 0100007F:C350 01 ...": local, remote, state
    std::string line, number, local, remote, state;
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      words >> number >> local >> remote >> state;
      const auto colon = local.rfind(':');
      if (state != "01" || colon == std::string::npos) continue;
      count += std::stoi(local.substr(colon + 1), nullptr, 16) == port ? 1 : 0;
    }
  }
  return count;
}

void check_all_met(Ranks& ranks) {
  const std::string size = std::to_string(ranks.processes.size());
  std::string all;
  for (std::size_t i = 0; i < ranks.processes.size(); ++i) all += " " + std::to_string(i);
  for (RankProcess& process : ranks.processes) {
    const int code = process.wait();
    CHECK_THAT(process.output(), Contains(" of " + size + " met" + all));
    CHECK(code == 0);
  }
}

struct MpirunResult {
  int code;
  std::string output;
};

MpirunResult mpirun(const TempFolder& folder,
                    const std::vector<std::string>& arguments,
                    const Variables& variables) {
  std::vector<std::string> words{
      WAM_MPIRUN, "-np", "3", "--oversubscribe", "--allow-run-as-root", WAM_MEET_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  RankProcess process(words, variables, folder.path() / "mpirun");
  const int code = process.wait();
  return {code, process.output()};
}

bool skip_without_mpirun() {
  if (*WAM_MPIRUN != '\0') return false;
  std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
  return true;
}

}  // namespace

TEST_CASE("Rendezvous: mpirun's ranks meet through the run folder, which is clean afterwards") {
  if (skip_without_mpirun()) return;
  const TempFolder folder;

  const auto result = mpirun(folder, {(folder.path() / "run").string(), kLongLimitMs}, {});

  CHECK(result.code == 0);
  for (const char* rank : {"0", "1", "2"}) {
    CHECK_THAT(result.output, Contains(std::string("rank ") + rank + " of 3 met 0 1 2"));
  }
  CHECK(has_no_meeting_file(folder.path() / "run"));
}

TEST_CASE("Rendezvous: mpirun's ranks meet at MASTER_ADDR and MASTER_PORT, without a folder") {
  if (skip_without_mpirun()) return;
  const TempFolder folder;

  const auto result = mpirun(folder, {"/proc/no_such_folder", kLongLimitMs},
                             {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", free_port()}});

  INFO(result.output);
  CHECK(result.code == 0);
  CHECK_THAT(result.output, Contains("rank 2 of 3 met 0 1 2"));
}

TEST_CASE("Rendezvous: a rank of mpirun that never arrives is named") {
  if (skip_without_mpirun()) return;
  const TempFolder folder;

  const auto result = mpirun(folder, {(folder.path() / "run").string(), kShortLimitMs, "2"}, {});

  CHECK(result.code == 3);
  CHECK_THAT(result.output, Contains("rank 2 did not arrive within 2 s. Fix: "));
  CHECK(has_no_meeting_file(folder.path() / "run"));
}

TEST_CASE("Rendezvous: ranks started as torchrun does meet, and those that came name the missing") {
  const TempFolder folder;
  const std::string port = free_port();
  Ranks ranks{folder};

  SECTION("all arrive") {
    for (const int rank : {2, 0, 1}) ranks.start(by_torchrun(rank, 3, port), kLongLimitMs);
    check_all_met(ranks);
  }
  SECTION("two of four arrive") {
    for (const int rank : {0, 2}) ranks.start(by_torchrun(rank, 4, port), kShortLimitMs);
    for (RankProcess& process : ranks.processes) {
      CHECK(process.wait() == 3);
      CHECK_THAT(process.output(), Contains("ranks 1, 3 did not arrive within 2 s"));
      CHECK_THAT(process.output(), Contains("127.0.0.1:" + port));
    }
  }
  SECTION("rank 0 is missing") {
    RankProcess& process = ranks.start(by_torchrun(1, 2, port), kShortLimitMs);
    CHECK(process.wait() == 3);
    CHECK_THAT(process.output(), Contains("rank 0 did not arrive within 2 s (nothing answers at "
                                          "127.0.0.1 port " +
                                          port + ")"));
  }
  SECTION("the port is taken") {
    const Listener other;
    RankProcess& process = ranks.start(by_torchrun(0, 2, other.port()), kShortLimitMs);
    CHECK(process.wait() == 3);
    CHECK_THAT(process.output(),
               Contains("opening the meeting place at 127.0.0.1:" + other.port()));
    CHECK_THAT(process.output(), Contains("Fix: choose a MASTER_PORT that is free"));
  }
}

TEST_CASE("Rendezvous: rank 0 joins the store that torchrun's agent holds") {
  const TempFolder folder;
  const std::string port = free_port();
  // In the agent's place: rank 0 of another job, which waits for its own second rank.
  Variables agent = by_torchrun(0, 2, port);
  agent["TORCHELASTIC_RUN_ID"] = "agent";
  const RankProcess holder({WAM_MEET_PROGRAM, folder.path().string(), kLongLimitMs}, agent,
                           folder.path() / "agent");
  Ranks ranks{folder};

  for (const int rank : {0, 1}) {
    Variables variables = by_torchrun(rank, 2, port);
    variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
    ranks.start(variables, kLongLimitMs);
  }

  check_all_met(ranks);
}

TEST_CASE("Rendezvous: files of earlier starts mislead nobody") {
  const TempFolder folder;
  Ranks ranks{folder};
  const auto run_dir = folder.path() / "run";
  std::filesystem::create_directories(run_dir);
  // Of an earlier attempt, and of a killed start with the same names at a port nobody listens to.
  std::ofstream(run_dir / ".rendezvous_77.0_0") << "garbage";
  std::ofstream(run_dir / ".rendezvous_77.0_1") << free_port() << "\ntoken\n127.0.0.1\n";

  SECTION("all arrive, rank 0 last") {
    ranks.start(by_slurm(1, 2), kLongLimitMs);
    ::usleep(500'000);
    ranks.start(by_slurm(0, 2), kLongLimitMs);
    check_all_met(ranks);
    CHECK_FALSE(std::filesystem::exists(run_dir / ".rendezvous_77.0_1"));
    CHECK(std::filesystem::exists(run_dir / ".rendezvous_77.0_0"));
  }
  SECTION("something else listens at the port of the old file") {
    const Listener other;
    std::ofstream(run_dir / ".rendezvous_77.0_1") << other.port() << "\ntoken\n127.0.0.1\n";
    ranks.start(by_slurm(1, 2), kLongLimitMs);
    ::usleep(500'000);
    ranks.start(by_slurm(0, 2), kLongLimitMs);
    check_all_met(ranks);
  }
  SECTION("another start's store at the port of the old file") {
    const std::string port = free_port();
    RankProcess& other = ranks.start(by_torchrun(0, 2, port), kShortLimitMs);
    std::ofstream(run_dir / ".rendezvous_77.0_1") << port << "\ntoken\n127.0.0.1\n";
    RankProcess& process = ranks.start(by_slurm(1, 2), kShortLimitMs);
    CHECK(process.wait() == 3);
    CHECK_THAT(process.output(), Contains("rank 0 did not arrive within 2 s"));
    CHECK(other.wait() == 3);
    CHECK_THAT(other.output(), Contains("rank 1 did not arrive within 2 s"));
  }
}

TEST_CASE("Rendezvous: two processes of one rank are an error") {
  const TempFolder folder;
  Ranks ranks{folder};
  const std::string port = free_port();

  ranks.start(by_torchrun(0, 3, port), kShortLimitMs);
  ranks.start(by_torchrun(1, 3, port), kShortLimitMs);
  ranks.start(by_torchrun(1, 3, port), kShortLimitMs);

  int doubled = 0;
  for (RankProcess& process : ranks.processes) {
    CHECK(process.wait() == 3);
    if (process.output().find("another process is rank 1 already") != std::string::npos) ++doubled;
  }
  CHECK(doubled == 1);
}

TEST_CASE("Rendezvous: rank 0 that dies while others wait is an error at once") {
  const TempFolder folder;
  Ranks ranks{folder};
  std::optional<RankProcess> first;
  first.emplace(std::vector<std::string>{WAM_MEET_PROGRAM, ranks.run_dir(), kLongLimitMs},
                by_slurm(0, 3), folder.path() / "first");
  RankProcess& second = ranks.start(by_slurm(1, 3), kLongLimitMs);
  // Rank 0 holds a connection to its own store as well.
  for (int tries = 0; tries < 200 && connections_to(port_in_file(ranks)) < 2; ++tries) {
    ::usleep(100'000);
  }
  REQUIRE(connections_to(port_in_file(ranks)) >= 2);

  first.reset();

  CHECK(second.wait() == 3);
  CHECK_THAT(second.output(), Contains("the store of rank 0 cannot be used any more"));
}

TEST_CASE("Rendezvous: without a job's name the run folder is not used") {
  const TempFolder folder;
  Ranks ranks{folder};

  RankProcess& process = ranks.start(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}},
      kShortLimitMs);

  CHECK(process.wait() == 2);
  CHECK_THAT(process.output(), Contains("the launcher (mpich) names no job"));
}
