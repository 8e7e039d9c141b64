// Four ranks on two hosts: network namespaces with a link between them.

#include <iostream>

#include <fmt/core.h>

#include "test/dist/parallel/watch/two_hosts.h"
#include "test/e2e/support/rank_run.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::must_train;
using wam::test::RankPlace;
using wam::test::RankRun;
using wam::test::shards;
using wam::test::TinyRuns;
using wam::test::TwoHosts;

namespace {

bool skip_without(const TwoHosts& hosts) {
  if (hosts.exist()) return false;
  std::cout << "SKIPPED: network namespaces cannot be made here (ip netns add, as root)\n";
  return true;
}

// Two ranks a host.
std::vector<RankPlace> places(const TinyRuns& runs, const TwoHosts& hosts) {
  std::vector<RankPlace> out;
  for (int rank = 0; rank < 4; ++rank) {
    out.push_back({.folder = runs.path(),
                   .start_with = hosts.on(rank / 2, {}),
                   .variables = {{"MASTER_ADDR", TwoHosts::address_of_first()},
                                 {"LOCAL_RANK", std::to_string(rank % 2)},
                                 {"LOCAL_WORLD_SIZE", "2"}}});
  }
  return out;
}

TinyRuns::Overrides with_steps(int steps) {
  return {fmt::format("train.steps={}", steps), "checkpoint.every=3",
          "parallel.strategy=hybrid_shard", "parallel.shard_size=2", "run.timeout_s=6"};
}

}  // namespace

TEST_CASE("ranks: on two hosts a run is the run on one, bit for bit") {
  const TwoHosts hosts;
  if (skip_without(hosts)) return;
  const TinyRuns runs;
  must_train(runs, "one_host", 4, with_steps(6));

  RankRun start(runs, "two_hosts", places(runs, hosts), with_steps(6));

  const auto codes = start.wait();
  INFO(start.outputs());
  CHECK(codes == std::vector<int>{0, 0, 0, 0});
  CHECK(runs.losses("two_hosts") == runs.losses("one_host"));
  const bool same_state = shards(runs, "two_hosts", 6) == shards(runs, "one_host", 6);
  CHECK(same_state);
}

TEST_CASE("ranks: when the link between two hosts is cut, either side names the other and leaves") {
  const TwoHosts hosts;
  if (skip_without(hosts)) return;
  const TinyRuns runs;
  RankRun start(runs, "cut", places(runs, hosts), with_steps(100'000));
  REQUIRE(start.wait_for_step(3));

  hosts.cut_link();

  const auto codes = start.wait();
  INFO(start.outputs());
  CHECK(codes == std::vector<int>{3, 3, 3, 3});
  for (int rank = 0; rank < 4; ++rank) {
    // Of the two beyond the link the one that was silent first, or both.
    const std::string output = start.output(rank);
    if (rank < 2) {
      CHECK_THAT(output, Contains("rank 2 (") || Contains("rank 3 (") || Contains("ranks 2 ("));
    } else {
      CHECK_THAT(output, Contains("rank 0 ("));
    }
    CHECK_THAT(output, Contains(" not been heard for 6.") && Contains("cannot be reached"));
  }
}
