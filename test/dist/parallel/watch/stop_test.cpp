// A stop request to any rank at any time: all ranks stop before the same step.

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include "test/dist/parallel/watch/watch_ranks.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::own_host;
using wam::test::WatchRanks;

namespace {

// "stops before step 17: SIGTERM received by …", or "finished".
std::string end_of(const WatchRanks& ranks, int rank) {
  const std::string output = ranks.output(rank);
  const std::string start = "rank " + std::to_string(rank) + " ";
  REQUIRE(output.starts_with(start));
  return output.substr(start.size());
}

}  // namespace

TEST_CASE("Stop: a signal to one rank stops all of them before the same step, and all leave well") {
  const auto [number, name] =
      GENERATE(std::pair{SIGTERM, "SIGTERM"}, std::pair{SIGUSR1, "SIGUSR1"});
  WatchRanks ranks(3, {"5000", "1000000", "1000"});
  ranks.wait_for_begin();

  ranks.rank(2).signal(number);

  CHECK(ranks.wait() == std::vector{0, 0, 0});
  CHECK_THAT(end_of(ranks, 0),
             Contains("stops before step ") &&
                 Contains(std::string(name) + " received by rank 2 (" + own_host() + ")"));
  CHECK(end_of(ranks, 0) == end_of(ranks, 1));
  CHECK(end_of(ranks, 0) == end_of(ranks, 2));
}

TEST_CASE("Stop: signals to random ranks at random times, coupled by collectives or not") {
  std::random_device source;
  const unsigned seed = source();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string coupling = GENERATE("none", "free");
  for (int round = 0; round < 4; ++round) {
    // Steps from as fast as they go to 20 ms; some runs end before the signal, or while they agree.
    const std::string step_us = std::to_string(random() % 3 * 10'000);
    const std::string steps = std::to_string(50 + random() % 400);
    const int size = 2 + static_cast<int>(random() % 3);
    CAPTURE(round, coupling, step_us, steps, size);
    WatchRanks ranks(size, {"5000", steps, step_us, coupling, "0", "0"});
    ranks.wait_for_begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 2000));

    for (int rank = 0; rank < size; ++rank) {
      if (random() % 2 == 0) ranks.rank(rank).signal(SIGTERM);
    }

    const std::vector<int> codes = ranks.wait();
    for (int rank = 0; rank < size; ++rank) {
      CAPTURE(rank, ranks.output(rank));
      CHECK(codes[static_cast<std::size_t>(rank)] == 0);
      CHECK(end_of(ranks, rank) == end_of(ranks, 0));
    }
  }
}
