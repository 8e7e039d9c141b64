// Four ranks on two hosts: network namespaces with a link between them.

#include <iostream>
#include <list>
#include <string>
#include <thread>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/dist/parallel/watch/two_hosts.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::test::RankProcess;
using wam::test::TempFolder;
using wam::test::TwoHosts;

namespace {

// watch_program with two ranks a host, 1 ms a step.
struct FourRanks {
  FourRanks(const TwoHosts& hosts, const std::string& steps) {
    for (int rank = 0; rank < 4; ++rank) {
      auto variables = wam::test::by_torchrun(rank, 4, "29777");
      variables["MASTER_ADDR"] = TwoHosts::address_of_first();
      variables["LOCAL_RANK"] = std::to_string(rank % 2);
      variables["LOCAL_WORLD_SIZE"] = "2";
      processes.emplace_back(
          hosts.on(rank / 2, {WAM_WATCH_PROGRAM, folder.path().string(), "4000", steps, "1000"}),
          variables, folder.path() / std::to_string(rank));
    }
  }

  TempFolder folder;
  std::list<RankProcess> processes;
};

bool skip_without(const TwoHosts& hosts) {
  if (hosts.exist()) return false;
  std::cout << "SKIPPED: network namespaces cannot be made here (ip netns add, as root)\n";
  return true;
}

}  // namespace

TEST_CASE("Link: ranks of two hosts meet, work and leave") {
  const TwoHosts hosts;
  if (skip_without(hosts)) return;

  FourRanks ranks(hosts, "200");

  for (RankProcess& process : ranks.processes) {
    CHECK(process.wait() == 0);
    CHECK_THAT(process.output(), Contains(" finished"));
  }
}

TEST_CASE("Link: when it is cut, either side names the ranks beyond it and leaves") {
  const TwoHosts hosts;
  if (skip_without(hosts)) return;
  FourRanks ranks(hosts, "1000000");
  for (const RankProcess& process : ranks.processes) {
    for (int tries = 0; process.output().find("begins") == std::string::npos; ++tries) {
      REQUIRE(tries < 3000);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));

  const auto start = std::chrono::steady_clock::now();
  hosts.cut_link();

  int rank = 0;
  for (RankProcess& process : ranks.processes) {
    CAPTURE(rank);
    CHECK(process.wait() == 3);
    CHECK_THAT(process.output(), Contains(rank++ < 2 ? "ranks 2 (" : "rank 0 (") &&
                                     Contains(" not been heard for 4.") &&
                                     Contains("cannot be reached"));
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}
