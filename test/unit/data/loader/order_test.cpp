#include "data/loader/order.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/random/counter.h"
#include "test/support/catch.h"

using wam::BatchPlan;
using wam::SampleOrder;

namespace {

std::vector<std::uint64_t> all_of(const BatchPlan& plan, std::uint64_t step) {
  std::vector<std::uint64_t> out;
  for (std::int64_t k = 0; k < plan.micro_steps(); ++k) {
    const auto part = plan.ordinals(step, k);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace

TEST_CASE("one dataset: every epoch is a permutation, another one each time") {
  const SampleOrder order({37}, {2.5}, 11);
  std::vector<std::uint64_t> first, second;
  for (std::uint64_t i = 0; i < 37; ++i) {
    first.push_back(order.window(i));
    second.push_back(order.window(37 + i));
    REQUIRE(order.window(i) == wam::Permutation(37, 11, wam::Purpose::kEpochOrder, 0)(i));
  }

  CHECK(std::set<std::uint64_t>(first.begin(), first.end()).size() == 37);
  CHECK(std::set<std::uint64_t>(second.begin(), second.end()).size() == 37);
  CHECK(first != second);
  CHECK(order.epoch_size() == 37);
}

TEST_CASE(
    "several: shares are exact in every epoch, windows come once each before any comes again") {
  const SampleOrder order({100, 30, 0, 20}, {1, 2, 5, 1}, 3);
  REQUIRE(order.epoch_size() == 150);
  CHECK(order.slots() == std::vector<std::uint64_t>{38, 75, 0, 37});
  std::map<std::uint64_t, std::vector<std::uint64_t>> times;  // of a window: its ordinals
  for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
    std::vector<int> count(3);
    for (std::uint64_t i = 0; i < 150; ++i) {
      const auto window = order.window(150 * epoch + i);
      ++count[window < 100 ? 0 : window < 130 ? 1 : 2];
      times[window].push_back(150 * epoch + i);
    }
    CHECK(count == std::vector<int>{38, 75, 37});
  }
  // 8 * 38 = 304 draws of 100 windows, 600 of 30, 296 of 20.
  CHECK(times.size() == 150);
  for (const auto& [window, seen] : times) {
    const double mean = window < 100 ? 3.04 : window < 130 ? 20 : 14.8;
    CHECK(std::abs(static_cast<double>(seen.size()) - mean) <= 1);
  }
}

TEST_CASE("equal weights draw equally from datasets of any size") {
  const SampleOrder order({5, 95}, {1, 1}, 3);

  CHECK(order.slots() == std::vector<std::uint64_t>{50, 50});
}

TEST_CASE("ranks take interleaved positions, and all of them together the whole batch once") {
  for (const std::int64_t world : {1, 2, 3, 8}) {
    for (const std::int64_t micro : {1, 3, 8}) {
      for (const std::uint64_t global : {1U, 5U, 8U, 17U}) {
        std::set<std::uint64_t> seen;
        for (std::int64_t rank = 0; rank < world; ++rank) {
          const BatchPlan plan{global, micro, rank, world, 40, false};
          CHECK(plan.micro_steps() == BatchPlan{global, micro, 0, world, 0, false}.micro_steps());
          for (const auto ordinal : all_of(plan, 2)) {
            CHECK(ordinal % static_cast<std::uint64_t>(world) ==
                  (40 + 2 * global + static_cast<std::uint64_t>(rank)) %
                      static_cast<std::uint64_t>(world));
            CHECK(seen.insert(ordinal).second);
          }
        }
        CHECK(seen.size() == global);
        CHECK(*seen.begin() == 40 + 2 * global);
        CHECK(*seen.rbegin() == 40 + 3 * global - 1);
      }
    }
  }
}

TEST_CASE("the last micro-batches are smaller or empty, equally many on every rank") {
  const BatchPlan full{10, 4, 0, 3, 0, false};       // positions 0 3 6 9
  const BatchPlan short_one{10, 2, 2, 3, 0, false};  // positions 2 5 8
  CHECK(full.micro_steps() == 1);
  CHECK(short_one.micro_steps() == 2);
  CHECK(short_one.ordinals(0, 1) == std::vector<std::uint64_t>{8});
  const BatchPlan idle{1, 1, 1, 2, 0, false};
  CHECK(idle.micro_steps() == 1);
  CHECK(idle.ordinals(0, 0).empty());
}

TEST_CASE("the same batch with the same draws comes again when asked") {
  const BatchPlan plan{6, 4, 0, 1, 18, true};

  CHECK(all_of(plan, 0) == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(all_of(plan, 7) == all_of(plan, 0));
}
