// Ranks as processes on this host, each of which trains with every strategy: strategies_program.

#include <list>
#include <string>

#include "test/dist/parallel/launch/rank_process.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::test::by_torchrun;
using wam::test::RankProcess;
using wam::test::TempFolder;

namespace {

void check_every_case(int world_size, int cases) {
  const TempFolder folder;
  const std::string port = wam::test::free_port();
  std::list<RankProcess> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    auto variables = by_torchrun(rank, world_size, port);
    variables["OMP_NUM_THREADS"] = "1";
    ranks.emplace_back(std::vector<std::string>{WAM_STRATEGIES_PROGRAM, folder.path().string()},
                       variables, folder.path() / std::to_string(rank));
  }
  for (RankProcess& rank : ranks) {
    const int code = rank.wait();
    INFO(rank.output());
    CHECK(code == 0);
    CHECK_THAT(rank.output(), Contains(": " + std::to_string(cases) + " cases agree, 0 differ"));
  }
}

}  // namespace

TEST_CASE("Strategies: every option works on one rank") {
  check_every_case(1, 60);
}

TEST_CASE("Strategies: two ranks compute what one does, with every option") {
  check_every_case(2, 88);
}

TEST_CASE("Strategies: three ranks compute what one does, with every option") {
  check_every_case(3, 72);
}

TEST_CASE("Strategies: four ranks compute what one does, with every option") {
  check_every_case(4, 88);
}
