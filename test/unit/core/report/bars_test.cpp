#include "core/report/bars.h"

#include <numeric>

#include "test/support/catch.h"

using Catch::Contains;
using wam::Bars;

TEST_CASE("bars: whole numbers fall into parts of whole width, all of them") {
  const Bars few = wam::bars_of({3, 5, 5, 4}, 48);
  CHECK(few.counts == std::vector<std::int64_t>{1, 1, 2});
  CHECK(few.low == 3);
  CHECK(few.high == 6);

  std::vector<std::int64_t> values(1000);
  std::iota(values.begin(), values.end(), 10);
  const Bars many = wam::bars_of(values, 48);
  CHECK(many.counts.size() <= 48);
  CHECK(many.counts.front() == 21);
  CHECK(std::accumulate(many.counts.begin(), many.counts.end(), std::int64_t{0}) == 1000);
  CHECK(wam::bars_of({}, 48).counts.empty());
}

TEST_CASE("bars: the chart says what lies outside, marks values, and escapes its title") {
  Bars bars;
  bars.title = "a<b";
  bars.high = 3;
  bars.counts = {5, 0, 1};
  bars.above = 2;
  bars.marks = {1.5, 9};
  const std::string svg = wam::bar_chart(bars);
  CHECK_THAT(svg,
             Contains("a&lt;b") && Contains("0 below, 2 above") && Contains("class=\"area c1\""));
  CHECK(svg.find("cursor") == svg.rfind("cursor"));  // the mark outside is not drawn
  CHECK_THAT(wam::bar_chart({}), Contains("no values"));
}
