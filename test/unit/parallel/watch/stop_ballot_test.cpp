#include "parallel/watch/stop_ballot.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::RankRecord;
using wam::StopBallot;
using wam::Summary;

namespace {

RankRecord with_stop(int rank, wam::StopWord stop) {
  RankRecord record{.rank = rank, .host = "a"};
  record.stop = std::move(stop);
  return record;
}

// Questions that it passes before it stops, at most `limit`.
int questions_passed(StopBallot& ballot, int limit) {
  int passed = 0;
  while (passed < limit && !ballot.agreed()) ++passed;
  return passed;
}

// A rank with its watch. They share nothing with the others but one record and one summary, which
// are read and written at random moments.
struct FakeRank {
  StopBallot ballot;
  std::mutex mutex;
  RankRecord record;
  int passed = 0;
};

struct FakeWorld {
  explicit FakeWorld(int size, unsigned seed) : random(seed) {
    for (int rank = 0; rank < size; ++rank) {
      ranks.push_back(std::make_unique<FakeRank>());
      ranks.back()->record.rank = rank;
    }
  }

  // One exchange of one rank's watch.
  void exchange(FakeRank& rank) {
    Summary heard;
    {
      const std::lock_guard lock(mutex);
      if (rank.record.rank == 0) count_all();
      heard = summary;
    }
    const std::lock_guard lock(rank.mutex);
    if (!heard.stop_reason.empty() && !rank.record.stop.passed) {
      rank.record.stop.passed = rank.ballot.promise();
    }
    if (heard.stop_at && !decided[static_cast<std::size_t>(rank.record.rank)]) {
      decided[static_cast<std::size_t>(rank.record.rank)] = true;
      rank.ballot.decide(*heard.stop_at, heard.stop_reason);
    }
  }

  void count_all() {
    std::vector<RankRecord> records;
    for (const auto& rank : ranks) {
      const std::lock_guard lock(rank->mutex);
      records.push_back(rank->record);
    }
    count_ballots(records, summary);
  }

  std::mt19937 random;
  std::vector<std::unique_ptr<FakeRank>> ranks;
  std::mutex mutex;
  Summary summary;
  std::array<bool, 8> decided{};
};

void jitter(std::mt19937& random, int max_us) {
  const int us = static_cast<int>(random() % static_cast<unsigned>(max_us + 1));
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

}  // namespace

TEST_CASE("StopBallot: the stop is right after the last question that any rank passed") {
  Summary summary;
  std::vector records{with_stop(0, {}), with_stop(1, {}), with_stop(2, {})};
  count_ballots(records, summary);
  CHECK(summary.stop_reason.empty());

  records[2].stop.wish = "SIGUSR1 received";
  count_ballots(records, summary);
  CHECK(summary.stop_reason == "SIGUSR1 received by rank 2 (a)");
  CHECK_FALSE(summary.stop_at);

  records[0].stop.passed = 10;
  records[1].stop.passed = 12;
  count_ballots(records, summary);
  CHECK_FALSE(summary.stop_at);

  records[2].stop.passed = 0;
  count_ballots(records, summary);
  CHECK(summary.stop_at == 13);

  records[0].stop = {.wish = "SIGTERM received", .passed = 99};
  count_ballots(records, summary);
  CHECK(summary.stop_at == 13);
  CHECK(summary.stop_reason == "SIGUSR1 received by rank 2 (a)");
}

TEST_CASE("StopBallot: answers no below the number and yes from it") {
  StopBallot ballot;
  CHECK(questions_passed(ballot, 5) == 5);
  CHECK(ballot.promise() == 5);
  ballot.decide(8, "a reason");

  CHECK(questions_passed(ballot, 100) == 2);
  CHECK(ballot.agreed());
  CHECK(ballot.reason() == "a reason");
}

TEST_CASE("StopBallot: after its promise a rank waits for the decision, or for an end of waiting") {
  StopBallot ballot;
  CHECK(ballot.promise() == 0);
  std::atomic<bool> answered = false;
  std::string error;
  std::thread rank([&] {
    try {
      ballot.agreed();
    } catch (const wam::CommError& e) {
      error = e.what();
    }
    answered = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(answered);

  SECTION("decision") {
    CHECK_NOTHROW(ballot.check());
    ballot.decide(1, "a reason");
    rank.join();
    CHECK(error.empty());
    CHECK(ballot.agreed());
  }
  SECTION("verdict") {
    ballot.give_up("rank 2 is gone");
    rank.join();
    CHECK(error == "rank 2 is gone");
    CHECK_THROWS_AS(ballot.agreed(), wam::CommError);
    CHECK_THROWS_AS(ballot.check(), wam::CommError);
  }
}

TEST_CASE("StopBallot: a decision that comes too late is a bug, not a stop") {
  StopBallot ballot;
  CHECK_THROWS_AS(ballot.decide(1, "no promise"), wam::InvariantError);
  CHECK(questions_passed(ballot, 5) == 5);
  ballot.promise();
  CHECK_THROWS_AS(ballot.decide(5, "passed already"), wam::InvariantError);
}

TEST_CASE("StopBallot: whatever the order of events, all ranks stop at the same question") {
  constexpr int kSize = 4;
  constexpr int kQuestions = 300;
  std::random_device source;
  int stopped = 0;
  for (int round = 0; round < 200; ++round) {
    const unsigned seed = source();
    CAPTURE(seed);
    FakeWorld world(kSize, seed);
    std::atomic<int> running = kSize;
    std::vector<std::thread> threads;
    for (const auto& rank : world.ranks) {
      threads.emplace_back([&, random = std::mt19937(world.random())]() mutable {
        const int slowness = static_cast<int>(random() % 60);
        while (rank->passed < kQuestions && !rank->ballot.agreed()) {
          ++rank->passed;
          jitter(random, slowness);
        }
        // As a rank that leaves does.
        const std::lock_guard lock(rank->mutex);
        rank->record.stop.passed = rank->ballot.promise();
        --running;
      });
      threads.emplace_back([&, random = std::mt19937(world.random())]() mutable {
        while (running > 0) {
          world.exchange(*rank);
          jitter(random, 500);
        }
      });
    }
    jitter(world.random, 15'000);
    {
      FakeRank& rank = *world.ranks[world.random() % kSize];
      const std::lock_guard lock(rank.mutex);
      rank.record.stop.wish = "SIGTERM received";
    }
    for (std::thread& thread : threads) thread.join();

    const int passed = world.ranks.front()->passed;
    for (const auto& rank : world.ranks) REQUIRE(rank->passed == passed);
    if (passed < kQuestions) ++stopped;
  }
  CHECK(stopped > 20);  // the others had finished before the wish, or after it without a stop
}
