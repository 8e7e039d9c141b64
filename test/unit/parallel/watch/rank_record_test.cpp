#include "parallel/watch/rank_record.h"

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::Failure;
using wam::InHand;
using wam::Phase;
using wam::RankRecord;
using wam::StoredCall;
using wam::Summary;

namespace {

RankRecord full_record() {
  RankRecord record{.rank = 3, .host = "node7", .beat = 9};
  record.progress = {
      .phase = Phase::kForwardBackward,
      .step = 120,
      .micro_step = 2,
      .issued = 4720,
      .completed = 4710,
      .in_hand = InHand{.sequence = 4711,
                        .call = StoredCall({"all_gather", "shard", "gather blocks.3", 12 << 20}),
                        .replayed = true},
      .mark = {.step = 120, .issued = 4600, .signature = ~0ULL}};
  record.still_s = 31.5;
  record.failure =
      Failure{.kind = Failure::Kind::kCollective, .text = "closed: \"\n\xff", .exit_code = 4};
  record.stop = {.wish = "SIGTERM received", .passed = 7};
  record.heard = true;
  return record;
}

}  // namespace

TEST_CASE("RankRecord: comes back as it was written") {
  const RankRecord record = full_record();

  const RankRecord back = wam::parse_record(to_text(record));

  CHECK(back.rank == 3);
  CHECK(back.host == "node7");
  CHECK(back.beat == 9);
  CHECK(position(back.progress) == position(record.progress));
  CHECK(back.progress.issued == 4720);
  CHECK(back.progress.completed == 4710);
  CHECK(back.progress.mark == record.progress.mark);
  CHECK(back.progress.in_hand->call.hash() == record.progress.in_hand->call.hash());
  CHECK(back.still_s == 31.5);
  CHECK(back.failure->kind == Failure::Kind::kCollective);
  // What is no UTF-8 is replaced.
  CHECK(back.failure->text == "closed: \"\n\xef\xbf\xbd");
  CHECK(back.failure->exit_code == 4);
  CHECK(back.stop == record.stop);
  CHECK(back.heard);
  CHECK_FALSE(back.left);
}

TEST_CASE("RankRecord: what is not there stays away") {
  const RankRecord back = wam::parse_record(to_text(RankRecord{.rank = 1, .host = "a"}));

  CHECK_FALSE(back.progress.in_hand);
  CHECK_FALSE(back.failure);
  CHECK(back.stop == wam::StopWord{});
  CHECK_THROWS_AS(wam::parse_record("{\"rank\": 1}"), wam::InvariantError);
}

TEST_CASE("Summary: comes back as it was written") {
  const Summary summary{.beat = 4,
                        .verdict = "rank 2 (b) is gone",
                        .culprits = {2, 5},
                        .error = "no such file",
                        .exit_code = 2,
                        .all_heard = true,
                        .stop_reason = "SIGTERM received by rank 1 (a)",
                        .stop_at = 12};

  const Summary back = wam::parse_summary(to_text(summary));

  CHECK(back.beat == 4);
  CHECK(back.verdict == summary.verdict);
  CHECK(back.culprits == summary.culprits);
  CHECK(back.error == summary.error);
  CHECK(back.exit_code == 2);
  CHECK(back.all_heard);
  CHECK(back.stop_reason == summary.stop_reason);
  CHECK(back.stop_at == 12);
  CHECK_FALSE(wam::parse_summary(to_text(Summary{})).stop_at);
}

TEST_CASE("RankRecord: says where a rank stands") {
  wam::ProgressState state = full_record().progress;
  CHECK(position(state) ==
        "step 120, micro-step 2, forward and backward, replaying a graph, in all_gather over shard "
        "of 12.0 MiB for 'gather blocks.3', number 4711");

  state.in_hand->replayed = false;
  state.in_hand->call = {};
  CHECK(position(state) ==
        "step 120, micro-step 2, forward and backward, in collective number 4711");

  CHECK(position(wam::ProgressState{}) == "starting");
}
