#include "core/report/axis.h"

#include <cmath>
#include <limits>

#include "test/support/catch.h"

namespace wam {

TEST_CASE("Ticks are round, inside the range, and at least three") {
  CHECK(Axis(0, 1, 0, 100, false).ticks(5) ==
        std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1});
  CHECK(Axis(0, 95, 0, 100, false).ticks(4) == std::vector<double>{0, 20, 40, 60, 80});
  for (const double high : {0.3, 1.7, 9.9, 1234.0, 3e-5}) {
    const auto ticks = Axis(-high / 3, high, 0, 100, false).ticks(5);
    CAPTURE(high);
    CHECK(ticks.size() >= 3);
    CHECK(ticks.size() <= 11);
    CHECK(ticks.front() >= -high / 3 * 1.001);
    CHECK(ticks.back() <= high * 1.001);
  }
}

TEST_CASE("A logarithmic axis has its ticks at decades") {
  const Axis axis(0.009, 12, 0, 300, true);

  CHECK(axis.ticks(5).size() == 4);
  CHECK(axis.pixel(0.009) == Approx(0));
  CHECK(axis.pixel(12) == Approx(300));
  CHECK(axis.pixel(std::sqrt(0.009 * 12)) == Approx(150));
}

TEST_CASE("Ranges pass over what is not finite") {
  Range range;
  range.include({std::nan(""), 2, std::numeric_limits<double>::infinity(), -1});

  CHECK(range.low == -1);
  CHECK(range.high == 2);
  CHECK(range.padded().low < -1);
  Range flat;
  flat.include(3);
  CHECK(flat.padded().high > flat.padded().low);
}

TEST_CASE("Tick labels are short") {
  CHECK(tick_label(0) == "0");
  CHECK(tick_label(0.25) == "0.25");
  CHECK(tick_label(-0.6000000000000001) == "-0.6");
  CHECK(tick_label(2e-05) == "2e-05");
  CHECK(tick_label(5000) == "5000");
  CHECK(tick_label(20000) == "20k");
  CHECK(tick_label(3.5e6) == "3.5M");
}

}  // namespace wam
