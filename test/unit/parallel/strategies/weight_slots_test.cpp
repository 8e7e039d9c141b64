#include "parallel/strategies/weight_slots.h"

#include <algorithm>
#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/parallel/strategies/rank_units.h"

using wam::Pass;
using wam::Unit;
using wam::test::rank_specs;
using wam::test::run_ranks;
using wam::test::ThreadAxis;
using wam::test::whole_weights;
using Lines = std::vector<std::string>;

namespace {

constexpr int kRanks = 2;

// One rank's slots, and what happened to them in order.
class Rank {
 public:
  Rank(ThreadAxis& axis, int rank, int blocks)
      : shards_(axis.connect(rank, events)), specs_(rank_specs(blocks)) {
    for (const auto& spec : specs_) {
      units_.emplace_back(spec, wam::UnitPlacement{.shard_idx = rank, .num_shards = kRanks});
    }
    slots_.emplace(units_, *shards_, lane_, waits_, wam::PiecesLieIn::kDeviceMemory);
    set_weights(0);
  }

  void set_weights(double more) {
    for (std::size_t i = 1; i + 1 < units_.size(); ++i) {
      const std::int64_t piece = units_[i].shard().piece;
      slots_->piece(i).copy_(expected(i, more).narrow(0, piece * shards_->axis_rank(), piece));
    }
    more_ = more;
  }

  void begin_pass() { slots_->begin_pass(); }
  void acquire(std::size_t unit_idx, Pass pass) {
    slots_->acquire(unit_idx, pass);
    events.push_back("use " + specs_[unit_idx].name);
    all_right = all_right && at::equal(units_[unit_idx].compute(), expected(unit_idx, more_));
  }
  void release(std::size_t unit_idx) { slots_->release(unit_idx); }

  void forward() {
    begin_pass();
    for (std::size_t i = 1; i + 1 < units_.size(); ++i) {
      acquire(i, Pass::kForward);
      release(i);
    }
  }
  void backward() {
    for (std::size_t i = units_.size() - 2; i > 0; --i) {
      acquire(i, Pass::kBackward);
      release(i);
    }
  }
  [[nodiscard]] bool is_gathered(std::size_t unit_idx) {
    return units_[unit_idx].compute().defined();
  }

  Lines events;
  bool all_right = true;  // weights were whole and right whenever they were used

 private:
  [[nodiscard]] at::Tensor expected(std::size_t unit_idx, double more) const {
    return whole_weights(specs_[unit_idx], unit_idx, kRanks) + more;
  }

  std::shared_ptr<wam::Collectives> shards_;
  std::vector<wam::UnitSpec> specs_;
  std::vector<Unit> units_;
  wam::Lane lane_{at::kCPU};
  wam::WaitTimes waits_{at::kCPU};
  std::optional<wam::WeightSlots> slots_;
  double more_ = 0;
};

// Runs `work` on two ranks and returns the events of one, which are those of the other.
template <class Work>
Lines events_of(int blocks, const Work& work) {
  ThreadAxis axis(kRanks);
  std::vector<Lines> events(kRanks);
  std::vector<char> all_right(kRanks);
  run_ranks(kRanks, [&](int number) {
    Rank rank(axis, number, blocks);
    work(rank);
    events[static_cast<std::size_t>(number)] = rank.events;
    all_right[static_cast<std::size_t>(number)] = rank.all_right ? 1 : 0;
  });
  CHECK(all_right == std::vector<char>{1, 1});
  CHECK(events[0] == events[1]);
  return events[0];
}

std::string gather(int block) {
  return "all_gather the weights of blocks." + std::to_string(block);
}

std::string use(int block) {
  return "use blocks." + std::to_string(block);
}

}  // namespace

TEST_CASE("WeightSlots: the next block is gathered before the current one is used") {
  const Lines forward = events_of(4, [](Rank& rank) { rank.forward(); });

  CHECK(forward ==
        Lines{gather(0), gather(1), use(0), gather(2), use(1), gather(3), use(2), use(3)});
}

TEST_CASE("WeightSlots: the last two blocks of a forward are still there in the backward") {
  const Lines found = events_of(4, [](Rank& rank) {
    rank.forward();
    rank.events.clear();
    rank.backward();
  });

  CHECK(found == Lines{use(3), gather(1), use(2), gather(0), use(1), use(0)});
}

TEST_CASE("WeightSlots: in a pass a block is gathered once forward and at most once backward") {
  for (int blocks = 1; blocks <= 5; ++blocks) {
    const Lines found = events_of(blocks, [](Rank& rank) {
      rank.forward();
      rank.backward();
    });
    for (int block = 0; block < blocks; ++block) {
      INFO("block " << block << " of " << blocks);
      CHECK(std::count(found.begin(), found.end(), gather(block)) == (block + 2 < blocks ? 2 : 1));
    }
  }
}

TEST_CASE("WeightSlots: a pass gathers anew, since weights may have changed") {
  const Lines found = events_of(2, [](Rank& rank) {
    rank.forward();
    rank.set_weights(0.5);
    rank.events.clear();
    rank.forward();
    rank.backward();
  });

  CHECK(found == Lines{gather(0), gather(1), use(0), use(1), use(1), use(0)});
}

TEST_CASE("WeightSlots: a block that made room has no weights") {
  events_of(4, [](Rank& rank) {
    rank.forward();
    rank.all_right = rank.all_right && !rank.is_gathered(1) && !rank.is_gathered(2) &&
                     rank.is_gathered(3) && rank.is_gathered(4);
  });
}

TEST_CASE("WeightSlots: a block that is held twice stays until it was given back twice") {
  const Lines found = events_of(3, [](Rank& rank) {
    rank.begin_pass();
    rank.acquire(1, Pass::kForward);
    rank.acquire(1, Pass::kForward);
    rank.release(1);
    bool refused = false;
    try {
      rank.acquire(2, Pass::kForward);  // and the third has no room
    } catch (const wam::InvariantError&) {
      refused = true;
    }
    rank.all_right = rank.all_right && refused;
  });

  CHECK(found == Lines{gather(0), gather(1), use(0), use(0)});
}

TEST_CASE("WeightSlots: what is not held cannot be given back, and nothing is held over a pass") {
  events_of(3, [](Rank& rank) {
    rank.begin_pass();
    const auto refuses = [](const auto& work) {
      try {
        work();
      } catch (const wam::InvariantError&) {
        return true;
      }
      return false;
    };
    bool right = refuses([&] { rank.release(1); });  // gathered, not acquired
    right = right && refuses([&] { rank.release(3); });
    rank.acquire(1, Pass::kForward);
    right = right && refuses([&] { rank.begin_pass(); });
    rank.all_right = rank.all_right && right;
  });
}
