// Ranks as processes on this host that exchange texts: exchange_program.

#include <list>
#include <string>
#include <vector>

#include <unistd.h>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::test::by_torchrun;
using wam::test::RankProcess;
using wam::test::TempFolder;

namespace {

std::list<RankProcess> start(const TempFolder& folder,
                             int world_size,
                             const std::vector<std::string>& arguments) {
  const std::string port = wam::test::free_port();
  std::vector<std::string> words{WAM_EXCHANGE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::list<RankProcess> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back(words, by_torchrun(rank, world_size, port),
                       folder.path() / std::to_string(rank));
  }
  return ranks;
}

}  // namespace

TEST_CASE("Exchange: every rank gets every text, from two threads at once, and nothing is left") {
  const TempFolder folder;
  for (const int world_size : {1, 2, 4}) {
    auto ranks = start(folder, world_size, {"20000", "30"});
    for (RankProcess& rank : ranks) {
      const int code = rank.wait();
      INFO(world_size << " ranks: " << rank.output());
      CHECK(code == 0);
      CHECK_THAT(rank.output(), Contains("exchanged"));
    }
  }
}

TEST_CASE("Exchange: a rank that does not come is named by the others within the limit") {
  const TempFolder folder;
  for (const char* absent : {"0", "2"}) {
    INFO("absent: rank " << absent);
    auto ranks = start(folder, 3, {"1500", "3", absent});
    std::string rank_name = "0";
    for (RankProcess& rank : ranks) {
      if (rank_name != absent) {
        const int code = rank.wait();
        INFO(rank.output());
        CHECK(code == 3);
        CHECK_THAT(rank.output(), Contains("rank " + rank_name + " of 3 on ") &&
                                      Contains("exchanging 0.2: rank " + std::string(absent) +
                                               " did not come within 1.5 s. Fix: "));
      }
      ++rank_name[0];
    }
  }
}

TEST_CASE("Exchange: a rank that takes longer than the limit, and says so, is waited for") {
  const TempFolder folder;
  for (const char* slow : {"0", "2"}) {
    INFO("slow: rank " << slow);
    auto ranks = start(folder, 3, {"1500", "3", slow, "slow"});
    for (RankProcess& rank : ranks) {
      const int code = rank.wait();
      INFO(rank.output());
      CHECK(code == 0);
      CHECK_THAT(rank.output(), Contains("exchanged"));
    }
  }
}

TEST_CASE("Exchange: when rank 0 dies the others learn it at once") {
  const TempFolder folder;
  auto ranks = start(folder, 2, {"20000", "3", "0"});
  ::usleep(1'500'000);

  ranks.pop_front();  // killed, while rank 1 waits for it

  CHECK(ranks.front().wait() == 3);
  CHECK_THAT(ranks.front().output(), Contains("the store of rank 0 cannot be used any more"));
}
