// Ranks that die, hang, fail or part: the others leave, and say who it was.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>

#include "test/dist/parallel/watch/watch_ranks.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::own_host;
using wam::test::RankProcess;
using wam::test::TempFolder;
using wam::test::WatchRanks;

namespace {

// A limit of 3 s is one of silence, too; a verdict takes a second more, leaving by force two.
constexpr double kLimit_s = 3;
constexpr double kAllIn_s = kLimit_s + 6;
constexpr int kDead = -SIGKILL;

std::vector<std::string> fault(const std::string& name,
                               int rank,
                               const char* limit_ms = "3000",
                               const char* step = "20") {
  return {limit_ms, "100000", "1000", name, std::to_string(rank), step};
}

void check_message(const WatchRanks& ranks, int rank, const std::string& text) {
  const std::string output = ranks.output(rank);
  CHECK_THAT(output, Contains("wamtrain: rank " + std::to_string(rank) + " of 3 leaves at "));
  CHECK_THAT(output, Contains(text));
  CHECK_THAT(output, Contains("Fix: look for the first error in the output of "));
}

std::string named(int rank) {
  return "rank " + std::to_string(rank) + " (" + own_host() + ")";
}

}  // namespace

TEST_CASE("Watch: of a rank that is killed the others tell where it stood") {
  // Late enough for a record of its steps.
  WatchRanks ranks(3, fault("kill", 2, "3000", "900"));

  CHECK(ranks.wait() == std::vector{3, 3, kDead});

  for (const int rank : {0, 1}) {
    check_message(ranks, rank, named(2) + " has not been heard for 3.");
    CHECK_THAT(ranks.output(rank),
               Contains("The last word of rank 2: step ") && Contains("forward and backward"));
    CHECK_THAT(ranks.output(rank),
               Contains("leaves at step 900, micro-step 1, forward and backward, in all_reduce "
                        "over data of 1.00 KiB for 'losses', number 900: "));
  }
}

TEST_CASE("Watch: when rank 0 is killed the others say so at once") {
  WatchRanks ranks(3, fault("kill", 0, "60000"));

  CHECK(ranks.wait() == std::vector{kDead, 3, 3});

  CHECK(ranks.seconds() < 8);
  for (const int rank : {1, 2}) {
    check_message(ranks, rank, named(0) + " is gone: the store that it held does not work");
  }
}

TEST_CASE("Watch: a host that hangs is named, and leaves when it comes back") {
  const int frozen = GENERATE(0, 1);
  WatchRanks ranks(3, fault("freeze", frozen));
  while (!ranks.rank(frozen).is_frozen()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == frozen) continue;
    CHECK(ranks.rank(rank).wait() == 3);
    check_message(ranks, rank, named(frozen) + " has not been heard for 3.");
  }
  CHECK(ranks.seconds() < kAllIn_s);

  ranks.rank(frozen).signal(SIGCONT);

  CHECK(ranks.rank(frozen).wait() == 3);
  check_message(ranks, frozen, frozen == 0 ? "not been heard" : named(0) + " is gone");
}

TEST_CASE("Watch: a rank that hangs in a phase is named, with what the others waited for") {
  WatchRanks ranks(3, fault("sleep", 1));

  CHECK(ranks.wait() == std::vector{3, 3, 3});

  CHECK(ranks.seconds() < kAllIn_s);
  for (const int rank : {0, 1, 2}) {
    check_message(ranks, rank, named(1) + " has not moved for ");
    CHECK_THAT(ranks.output(rank), Contains("step 20, micro-step 1, waiting for data. Waiting for "
                                            "it: ranks 0 (" +
                                            own_host()));
  }
}

TEST_CASE("Watch: ranks whose collectives cannot be aborted are ended, each with its message") {
  WatchRanks ranks(3, fault("stuck", 2));

  CHECK(ranks.wait() == std::vector{3, 3, 3});

  CHECK(ranks.seconds() < kAllIn_s);
  for (const int rank : {0, 1, 2}) check_message(ranks, rank, named(2) + " has not moved for ");
}

TEST_CASE("Watch: different collectives under one number are told long before the limit") {
  WatchRanks ranks(3, fault("mismatch", 1, "60000"));

  CHECK(ranks.wait() == std::vector{3, 3, 3});

  CHECK(ranks.seconds() < 10);
  for (const int rank : {0, 1, 2}) {
    check_message(ranks, rank,
                  "the ranks are in different collectives: " + named(0) +
                      " in all_reduce over data of 1.00 KiB for 'losses', number 20; " + named(1) +
                      " in all_reduce over data of 1.00 KiB for 'gradients', number 20");
  }
}

TEST_CASE("Watch: the error of one rank is said by it alone, and ends all with its exit code") {
  const int culprit = GENERATE(0, 2);
  WatchRanks ranks(3, fault("error", culprit, "60000"));

  const std::vector<int> codes = ranks.wait();

  CHECK(ranks.seconds() < 10);
  for (int rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    CHECK(codes[static_cast<std::size_t>(rank)] == 2);
    if (rank == culprit) {
      CHECK(ranks.output(rank) == "wamtrain: no such episode. Fix: none.\n");
    } else {
      CHECK_THAT(ranks.output(rank),
                 Contains("wamtrain: rank " + std::to_string(rank) + " of 3 leaves at ") &&
                     Contains(named(culprit) +
                              " ended with an error at step 20, micro-step 1, forward and "
                              "backward. Fix: the output of rank " +
                              std::to_string(culprit) + " has the error.") &&
                     !Contains("no such episode"));
    }
  }
}

TEST_CASE(
    "Watch: Gloo's collectives fail when a rank is killed, which is named long before a limit") {
  WatchRanks ranks(3, fault("gloo:kill", 2, "60000", "900"));

  CHECK(ranks.wait() == std::vector{3, 3, kDead});

  CHECK(ranks.seconds() < 20);
  for (const int rank : {0, 1}) {
    check_message(ranks, rank, named(2) + " has not been heard for ");
    CHECK_THAT(ranks.output(rank), Contains("in all_reduce over data of 1.00 KiB for 'losses'"));
  }
}

TEST_CASE("Watch: ranks that Gloo keeps waiting are ended") {
  WatchRanks ranks(3, fault("gloo:sleep", 1));

  CHECK(ranks.wait() == std::vector{3, 3, 3});

  CHECK(ranks.seconds() < kAllIn_s);
  for (const int rank : {0, 1, 2}) check_message(ranks, rank, named(1) + " has not moved for ");
}

TEST_CASE("Watch: a collective that fails while all are there is told as such") {
  WatchRanks ranks(3, fault("fail", 1));

  CHECK(ranks.wait() == std::vector{3, 3, 3});

  for (const int rank : {0, 1, 2}) {
    check_message(ranks, rank, "a collective failed on " + named(1) + " at step 20");
    CHECK_THAT(ranks.output(rank), Contains("every rank is still there: the link is down"));
  }
}

TEST_CASE("Watch: rank 0 leaves last, however long another one saves") {
  const int slow = GENERATE(0, 2);
  WatchRanks ranks(3, {"2000", "20", "1000", "late", std::to_string(slow), "20"});

  CHECK(ranks.wait() == std::vector{0, 0, 0});

  CHECK(ranks.seconds() > 4);
  for (const int rank : {0, 1, 2}) {
    CHECK(ranks.output(rank) == "rank " + std::to_string(rank) + " finished\n");
  }
}

TEST_CASE("Watch: under mpirun no process outlives a rank that is killed") {
  if (*WAM_MPIRUN == '\0') {
    std::cout << "SKIPPED: mpirun was not found (openmpi-bin)\n";
    return;
  }
  const TempFolder folder;
  RankProcess process(
      {WAM_MPIRUN, "-np", "3", "--oversubscribe", "--allow-run-as-root", WAM_WATCH_PROGRAM,
       folder.path().string(), "3000", "100000", "1000", "kill", "1", "20"},
      {}, folder.path() / "mpirun");

  CHECK(process.wait() != 0);

  CHECK_THAT(process.output(), Contains("rank 1"));
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    std::string line;
    std::getline(in, line);
    CHECK(line.find(folder.path().string()) == std::string::npos);
  }
}
