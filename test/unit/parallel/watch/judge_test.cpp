#include "parallel/watch/judge.h"

#include "test/support/catch.h"

using Catch::Contains;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wam::CollectiveCall;
using wam::Failure;
using wam::InHand;
using wam::Judge;
using wam::Phase;
using wam::RankRecord;
using wam::StoredCall;
using wam::Verdict;

namespace {

const wam::WatchLimits kLimits{.still = seconds(600), .silence = seconds(15), .doubt = seconds(4)};

InHand gather(std::uint64_t sequence, std::string_view purpose = "gather blocks.3") {
  return {.sequence = sequence, .call = StoredCall({"all_gather", "shard", purpose, 1 << 20})};
}

// Four ranks on two hosts that beat once a second, judged once a second.
class Ranks {
 public:
  Ranks() {
    for (int rank = 0; rank < 4; ++rank) {
      RankRecord record{.rank = rank, .host = rank < 2 ? "a" : "b", .beat = 1};
      record.progress.phase = Phase::kForwardBackward;
      record.progress.step = 120;
      record.progress.mark = {.step = 120, .issued = 40, .signature = 7};
      records.push_back(record);
    }
  }

  std::optional<Verdict> after(milliseconds time) {
    std::optional<Verdict> verdict;
    for (const auto end = now + time; now < end && !verdict;) {
      now += seconds(1);
      for (RankRecord& record : records) {
        if (record.rank != dead) ++record.beat;
      }
      verdict = judge.judge(records, now);
    }
    return verdict;
  }

  Judge::TimePoint now;
  Judge judge = Judge(4, kLimits, now);
  std::vector<RankRecord> records;
  int dead = -1;
};

}  // namespace

TEST_CASE("Judge: ranks that work are left in peace") {
  Ranks ranks;
  ranks.records[1].progress.in_hand = gather(41);
  ranks.records[2].progress.in_hand = gather(42, "gather blocks.4");
  ranks.records[3].progress.mark = {.step = 119, .issued = 30, .signature = 3};
  ranks.records[0].still_s = 599;
  ranks.records[1].still_s = 300;
  ranks.records[2].still_s = 300;
  ranks.records[3].still_s = 300;

  CHECK_FALSE(ranks.after(seconds(100)));
}

TEST_CASE("Judge: a rank that is not heard is dead, with its last word") {
  Ranks ranks;
  ranks.records[2].progress.in_hand = gather(41);
  CHECK_FALSE(ranks.after(seconds(10)));
  ranks.dead = 2;

  CHECK_FALSE(ranks.after(seconds(14)));
  const auto verdict = ranks.after(seconds(1));

  REQUIRE(verdict);
  CHECK(verdict->text ==
        "rank 2 (b) has not been heard for 15.0 s: the process died, or its host hangs or cannot "
        "be reached. The last word of rank 2: step 120, forward and backward, in all_gather over "
        "shard of 1.00 MiB for 'gather blocks.3', number 41");
  CHECK(verdict->culprits == std::vector{2});
  CHECK(verdict->silent);
}

TEST_CASE("Judge: a rank that was never heard is dead, one that left is not") {
  Ranks ranks;
  ranks.records[3] = {.rank = 3};
  ranks.dead = 3;

  SECTION("never heard") {
    const auto verdict = ranks.after(seconds(15));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text, Contains("rank 3 has not been heard for 15.0 s"));
  }
  SECTION("left") {
    ranks.records[3].left = true;
    CHECK_FALSE(ranks.after(seconds(100)));
  }
}

TEST_CASE("Judge: after a pause of its own nobody's silence counts before") {
  Ranks ranks;
  ranks.dead = 2;
  CHECK_FALSE(ranks.after(seconds(10)));

  ranks.now += seconds(60);

  CHECK_FALSE(ranks.after(seconds(15)));
  CHECK(ranks.after(seconds(2)));
}

TEST_CASE("Judge: a rank outside of collectives keeps the others waiting") {
  Ranks ranks;
  for (RankRecord& record : ranks.records) {
    record.progress.in_hand = gather(41);
    record.still_s = 600;
  }
  ranks.records[3].progress.in_hand.reset();
  ranks.records[3].progress.phase = Phase::kDataWait;
  ranks.records[3].still_s = 580;

  const auto verdict = ranks.after(seconds(1));

  REQUIRE(verdict);
  CHECK(verdict->text ==
        "rank 3 (b) has not moved for 9 min 40 s: step 120, waiting for data. Waiting for it: "
        "ranks 0 (a), 1 (a), 2 (b) in all_gather over shard of 1.00 MiB for 'gather blocks.3', "
        "number 41");
  CHECK(verdict->culprits == std::vector{3});
  CHECK_FALSE(verdict->silent);
}

TEST_CASE("Judge: as long as one rank moves the others wait for it") {
  Ranks ranks;
  for (RankRecord& record : ranks.records) record.still_s = 5000;
  ranks.records[2].progress.phase = Phase::kCheckpoint;
  ranks.records[2].still_s = 1;
  CHECK_FALSE(ranks.after(seconds(100)));

  // Nor is there a limit to preparing, outside of collectives.
  ranks.records[2].progress.phase = Phase::kStarting;
  ranks.records[2].still_s = 5000;
  CHECK_FALSE(ranks.after(seconds(100)));

  // One that has left does not count.
  ranks.records[2].left = true;
  CHECK(ranks.after(seconds(1)));
}

TEST_CASE("Judge: when all wait, the one behind is named, or that none is") {
  Ranks ranks;
  for (RankRecord& record : ranks.records) {
    record.progress.in_hand = gather(42, "gather blocks.4");
    record.still_s = 601;
  }

  SECTION("one behind") {
    ranks.records[1].progress.in_hand = gather(41);
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text, Contains("rank 1 (a) has not moved for 10 min 01 s, behind the "
                                       "others: step 120, forward and backward, in all_gather"));
    CHECK(verdict->culprits == std::vector{1});
  }
  SECTION("none behind") {
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text,
               Contains("ranks 0 (a), 1 (a), 2 (b), 3 (b) have not moved for 10 min 01 s, each "
                        "waiting for the others (a device or a link hangs)"));
  }
}

TEST_CASE("Judge: who leaves may wait as long as it likes for who does not") {
  Ranks ranks;
  ranks.records[0].progress.phase = Phase::kLeaving;
  ranks.records[0].still_s = 5000;
  ranks.records[1].left = true;
  ranks.records[1].still_s = 5000;

  CHECK_FALSE(ranks.after(seconds(100)));
}

TEST_CASE("Judge: different collectives under one number") {
  Ranks ranks;
  ranks.records[0].progress.in_hand = gather(41);
  ranks.records[1].progress.in_hand = gather(41);
  ranks.records[2].progress.in_hand =
      InHand{.sequence = 41, .call = StoredCall({"all_reduce", "replicate", "gradients", 512})};

  const auto verdict = ranks.after(seconds(1));

  REQUIRE(verdict);
  CHECK(verdict->text ==
        "the ranks are in different collectives: rank 0 (a) in all_gather over shard of 1.00 MiB "
        "for 'gather blocks.3', number 41; rank 2 (b) in all_reduce over replicate of 512 B for "
        "'gradients', number 41. All ranks must issue the same ones: this is a bug of wamtrain");
  CHECK(verdict->culprits == std::vector{0, 2});
}

TEST_CASE("Judge: ranks that came to the same step by different ways") {
  Ranks ranks;
  SECTION("by more collectives") {
    ranks.records[3].progress.mark.issued = 38;
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text,
               Contains("before step 120, rank 0 (a) and rank 3 (b) issued 40 and 38 collectives"));
  }
  SECTION("by others") {
    ranks.records[1].progress.mark.signature = 8;
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text, Contains("rank 0 (a) and rank 1 (a) issued 40 collectives each, "
                                       "which are not the same"));
  }
}

TEST_CASE("Judge: the error of a rank comes before all that follows from it") {
  Ranks ranks;
  ranks.records[1].failure =
      Failure{.kind = Failure::Kind::kCollective, .text = "connection closed"};
  ranks.records[2].failure =
      Failure{.kind = Failure::Kind::kOwn, .text = "no such file", .exit_code = 2};
  ranks.records[3].still_s = 1000;

  const auto verdict = ranks.after(seconds(1));

  REQUIRE(verdict);
  CHECK(verdict->text == "rank 2 (b) ended with an error at step 120, forward and backward");
  CHECK(verdict->error == "no such file");
  CHECK(verdict->exit_code == 2);
  CHECK(verdict->culprits == std::vector{2});
}

TEST_CASE("Judge: a collective that failed makes a silent rank suspect at once") {
  Ranks ranks;
  CHECK_FALSE(ranks.after(seconds(20)));
  ranks.records[1].failure =
      Failure{.kind = Failure::Kind::kCollective, .text = "connection closed"};

  SECTION("rank 3 died") {
    ranks.dead = 3;
    CHECK_FALSE(ranks.after(seconds(4)));
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text, Contains("rank 3 (b) has not been heard for"));
    CHECK(verdict->silent);
  }
  SECTION("all are there") {
    ranks.records[1].progress.in_hand = gather(41);
    CHECK_FALSE(ranks.after(seconds(4)));
    const auto verdict = ranks.after(seconds(1));
    REQUIRE(verdict);
    CHECK_THAT(verdict->text, Contains("a collective failed on rank 1 (a) at step 120, forward and "
                                       "backward, in all_gather"));
    CHECK_THAT(verdict->text, Contains("every rank is still there: connection closed"));
    CHECK_FALSE(verdict->silent);
  }
}

TEST_CASE("Judge: of many ranks eight are named") {
  std::vector<RankRecord> records;
  for (int rank = 0; rank < 1000; ++rank) records.push_back({.rank = rank, .host = "h"});
  Judge judge(1000, kLimits, Judge::TimePoint{});
  for (int s = 1; s < 15; ++s) {
    CHECK_FALSE(judge.judge(records, Judge::TimePoint{} + seconds(s)));
  }

  const auto verdict = judge.judge(records, Judge::TimePoint{} + seconds(15));

  REQUIRE(verdict);
  CHECK_THAT(verdict->text, Contains("6 (h), 7 (h) and 992 more have not been heard"));
  CHECK(verdict->culprits.size() == 1000);
}
