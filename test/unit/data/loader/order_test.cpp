#include "data/loader/order.h"

#include <algorithm>
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

// What each rule draws is written down under its name: whoever changes the one changes the other.
TEST_CASE("the rules of the order draw what their names in checkpoints stand for") {
  using wam::MixtureDraw;
  const auto drawn = [](const SampleOrder& order) {
    std::vector<std::uint64_t> windows;
    for (const std::uint64_t i : {0U, 1U, 2U, 3U, 149U, 150U, 1000U, 123'456U}) {
      windows.push_back(order.window(i));
    }
    return windows;
  };
  using Windows = std::vector<std::uint64_t>;
  CHECK(wam::order_name(1, MixtureDraw::kExact) == "one permutation an epoch");
  CHECK(drawn(SampleOrder({150}, {1}, 3)) == Windows{76, 34, 124, 148, 71, 22, 87, 107});
  CHECK(wam::order_name(3, MixtureDraw::kExact) == "exact shares of every 64");
  CHECK(drawn(SampleOrder({100, 30, 20}, {1, 2, 1}, 3)) ==
        Windows{102, 106, 81, 149, 93, 145, 112, 95});
  CHECK(wam::order_name(3, MixtureDraw::kReference) == "the reference's mixture");
  CHECK(drawn(SampleOrder({100, 30, 20}, {1, 2, 1}, 3, MixtureDraw::kReference)) ==
        Windows{62, 112, 17, 124, 107, 120, 147, 62});
}

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

TEST_CASE("several: shares are exact, windows come once each before any comes again") {
  const SampleOrder order({100, 30, 0, 20}, {1, 2, 5, 1}, 3);
  REQUIRE(order.epoch_size() == 150);
  std::map<std::uint64_t, int> times;
  std::vector<int> count(3);
  for (std::uint64_t i = 0; i < 1200; ++i) {
    const auto window = order.window(i);
    ++count[window < 100 ? 0 : window < 130 ? 1 : 2];
    ++times[window];
    const auto share = [&](std::size_t k) { return count[k] / static_cast<double>(i + 1); };
    if ((i + 1) % 64 != 0) continue;
    CHECK(std::abs(share(0) - 0.25) * static_cast<double>(i + 1) <= 1);
    CHECK(std::abs(share(1) - 0.50) * static_cast<double>(i + 1) <= 1);
    CHECK(std::abs(share(2) - 0.25) * static_cast<double>(i + 1) <= 1);
  }
  // 300 draws of 100 windows, 600 of 30, 300 of 20.
  CHECK(times.size() == 150);
  for (const auto& [window, seen] : times) {
    const double mean = window < 100 ? 3 : window < 130 ? 20 : 15;
    CHECK(std::abs(seen - mean) <= 1);
  }
}

TEST_CASE("a mixture of 4:1 in 10,000 draws, the small set repeated thirty times and more") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const SampleOrder order({50'000, 65}, {4, 1}, seed);
    const SampleOrder again({50'000, 65}, {4, 1}, seed);
    std::map<std::uint64_t, int> small;
    std::set<std::uint64_t> large;
    std::size_t large_draws = 0;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const auto window = order.window(i);
      REQUIRE(again.window(i) == window);
      if (window < 50'000) {
        large.insert(window);
        ++large_draws;
      } else {
        ++small[window];
      }
    }
    CHECK(large.size() == large_draws);  // none twice
    // 4:1 to a hundredth of the smaller share; 10,000 is not a multiple of 64.
    CHECK(
        std::abs(static_cast<double>(large_draws) / (10'000.0 - static_cast<double>(large_draws)) -
                 4) <= 0.04);
    REQUIRE(small.size() == 65);
    for (const auto& [window, seen] : small) {
      CHECK((seen == 30 || seen == 31));  // 2,000 draws of 65 windows
    }
  }
}

TEST_CASE(
    "shares hold for sets so small that an epoch could not hold them, and for equal weights") {
  for (const auto& weights : {std::vector<double>{4, 1}, std::vector<double>{1, 1}}) {
    const SampleOrder order({5, 2}, weights, 3);
    int first = 0;
    for (std::uint64_t i = 0; i < 9600; ++i) first += order.window(i) < 5 ? 1 : 0;
    CHECK(first == static_cast<int>(9600 * weights[0] / (weights[0] + weights[1])));
  }
}

TEST_CASE("the datasets of a mixture do not take turns in step with ranks") {
  const SampleOrder order({500, 500}, {1, 1}, 3);
  int even = 0;
  for (std::uint64_t i = 0; i < 2000; i += 2) even += order.window(i) < 500 ? 1 : 0;
  CHECK(even > 400);
  CHECK(even < 600);
}

TEST_CASE("the reference's mixture: each epoch has the same samples in another order") {
  const SampleOrder order({300, 40}, {1, 3}, 3, wam::MixtureDraw::kReference);
  CHECK(order.num_windows() == 340);
  REQUIRE(order.epoch_size() == 105);  // 300 / 4 + 40 * 3 / 4
  std::vector<std::uint64_t> first, second;
  for (std::uint64_t i = 0; i < 105; ++i) {
    first.push_back(order.window(i));
    second.push_back(order.window(105 + i));
    REQUIRE(first.back() < 340);
  }
  CHECK(first != second);
  const auto of_small = std::count_if(first.begin(), first.end(), [](auto w) { return w >= 300; });
  CHECK(of_small > 60);
  CHECK(of_small < 95);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == second);
  // One dataset: as ever.
  CHECK(SampleOrder({37}, {1}, 3, wam::MixtureDraw::kReference).window(40) ==
        SampleOrder({37}, {1}, 3).window(40));
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
