#include "parallel/watch/progress.h"

#include <string>

#include "core/base/errors.h"
#include "test/support/catch.h"

using wam::CollectiveCall;
using wam::Phase;
using wam::Progress;
using wam::ProgressState;

namespace {

const CollectiveCall kGather{"all_gather", "shard", "gather blocks.3", 1024};
const CollectiveCall kReduce{"reduce_scatter", "shard", "reduce blocks.3", 4096};

std::string purpose_in_hand(const ProgressState& state) {
  return state.in_hand ? std::string(state.in_hand->call.view().purpose) : "none";
}

}  // namespace

TEST_CASE("Progress: a collective is in hand from its beginning to its end") {
  Progress progress;
  progress.enter(Phase::kForwardBackward, 3, 2);

  CHECK_FALSE(progress.state(0).in_hand);
  const auto first = progress.begin(kGather);
  const ProgressState within = progress.state(0);
  progress.end(first);

  CHECK(first == 1);
  REQUIRE(within.in_hand);
  CHECK(within.in_hand->sequence == 1);
  const CollectiveCall call = within.in_hand->call.view();
  CHECK(call.operation == "all_gather");
  CHECK(call.axis == "shard");
  CHECK(call.purpose == "gather blocks.3");
  CHECK(call.bytes == 1024);
  CHECK(within.phase == Phase::kForwardBackward);
  CHECK(within.step == 3);
  CHECK(within.micro_step == 2);
  CHECK_FALSE(progress.state(0).in_hand);
}

TEST_CASE(
    "Progress: of what the host issued ahead, the one that the device has reached is in hand") {
  Progress progress;
  progress.begin(kGather);
  progress.begin(kReduce);
  progress.begin(kGather);

  CHECK(purpose_in_hand(progress.state(0)) == "gather blocks.3");
  CHECK(purpose_in_hand(progress.state(1)) == "reduce blocks.3");
  CHECK(purpose_in_hand(progress.state(3)) == "none");
  CHECK(progress.state(3).completed == 3);
  // A counter cannot be ahead of what was issued.
  CHECK(progress.state(7).completed == 3);
}

TEST_CASE("Progress: a replay issues what was recorded, under new numbers each time") {
  Progress progress;
  progress.begin_recording();
  CHECK(progress.begin(kGather) == 0);
  CHECK(progress.begin(kReduce) == 0);
  const auto calls = progress.end_recording();
  CHECK(progress.state(0).issued == 0);

  progress.replay(calls);
  progress.replay(calls);

  const ProgressState state = progress.state(3);
  CHECK(state.issued == 4);
  REQUIRE(state.in_hand);
  CHECK(state.in_hand->sequence == 4);
  CHECK(state.in_hand->replayed);
  CHECK(purpose_in_hand(state) == "reduce blocks.3");
  CHECK(purpose_in_hand(progress.state(2)) == "gather blocks.3");
}

TEST_CASE("Progress: a graph without collectives issues none") {
  Progress progress;
  progress.begin_recording();
  progress.replay(progress.end_recording());
  CHECK(progress.state(0).issued == 0);
}

TEST_CASE("Progress: the mark of a step tells calls, their order and number, and their way apart") {
  const auto mark_after = [](auto issue) {
    Progress progress;
    progress.enter(Phase::kUpdate, 1, 0);
    issue(progress);
    progress.enter(Phase::kDataWait, 2, 1);
    progress.begin(kGather);  // of step 2: not in its mark
    return progress.state(0).mark;
  };
  const auto both = mark_after([](Progress& p) {
    p.begin(kGather);
    p.begin(kReduce);
  });

  CHECK(both.step == 2);
  CHECK(both.issued == 2);
  CHECK(both == mark_after([](Progress& p) {
          p.begin_recording();
          p.begin(kGather);
          p.begin(kReduce);
          p.replay(p.end_recording());
        }));
  CHECK_FALSE(both == mark_after([](Progress& p) {
                p.begin(kReduce);
                p.begin(kGather);
              }));
  const CollectiveCall other =
      GENERATE_COPY(CollectiveCall{"all_reduce", "shard", "reduce blocks.3", 4096},
                    CollectiveCall{"reduce_scatter", "replicate", "reduce blocks.3", 4096},
                    CollectiveCall{"reduce_scatter", "shard", "reduce blocks.4", 4096},
                    CollectiveCall{"reduce_scatter", "shard", "reduce blocks.3", 4097});
  CHECK_FALSE(both == mark_after([&](Progress& p) {
                p.begin(kGather);
                p.begin(other);
              }));
}

TEST_CASE("Progress: names too long are cut, and what is longer ago than it remembers has none") {
  Progress progress;
  progress.begin(
      {"an_operation_beyond_all_bounds", "an axis beyond bounds", std::string(90, 'p'), 1});
  const ProgressState first = progress.state(0);
  const CollectiveCall call = first.in_hand->call.view();
  CHECK(call.operation == "an_operation_be");
  CHECK(call.axis == "an axis beyond ");
  CHECK(call.purpose == std::string(47, 'p'));

  for (int i = 0; i < 5000; ++i) progress.begin(kGather);
  const ProgressState late = progress.state(0);
  REQUIRE(late.in_hand);
  CHECK(late.in_hand->sequence == 1);
  CHECK(late.in_hand->call.view().operation.empty());
  CHECK(purpose_in_hand(progress.state(905)) == "gather blocks.3");
}

TEST_CASE("Progress: one graph is recorded at a time") {
  Progress progress;
  CHECK_THROWS_AS(progress.end_recording(), wam::InvariantError);
  progress.begin_recording();
  CHECK_THROWS_AS(progress.begin_recording(), wam::InvariantError);
}
