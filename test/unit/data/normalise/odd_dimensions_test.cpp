#include "data/normalise/odd_dimensions.h"

#include "test/support/catch.h"

using wam::KeyStatistics;
using wam::odd_dimensions;
using wam::OddDimension;
using wam::Oddity;
using wam::Statistics;

namespace {

void add(KeyStatistics& key, double min, double q01, double q99, double max) {
  key.min.push_back(min);
  key.q01.push_back(q01);
  key.q99.push_back(q99);
  key.max.push_back(max);
  key.mean.push_back((q01 + q99) / 2);
  key.std.push_back((q99 - q01) / 4);
}

std::vector<OddDimension> odd_of(double min, double q01, double q99, double max) {
  Statistics s;
  add(s.action["joint"], min, q01, q99, max);
  return odd_dimensions(s);
}

double single(float value) {
  return static_cast<double>(value);
}

}  // namespace

TEST_CASE("constant and near-constant dimensions are listed by key and place, state first") {
  Statistics s;
  add(s.state["joint"], -1, -0.9, 0.9, 1);
  add(s.state["joint"], 3, 3, 3, 3);
  add(s.action["grip"], 0.04, 0.04, 0.0400999, 0.0401);
  CHECK(odd_dimensions(s) ==
        std::vector<OddDimension>{{"state.joint", 1, Oddity::kConstant, false, false},
                                  {"action.grip", 0, Oddity::kNearConstant, false, false}});
}

TEST_CASE("a range of 1e-4 is near-constant however its ends round in float32, 1.1e-4 is not") {
  for (const float low : {0.0F, 0.1F, 0.7F, -1.3F, 2.9F}) {
    INFO(low);
    const double a = single(low);
    const auto odd = odd_of(a, a, single(low + 1e-4F), single(low + 1e-4F));
    REQUIRE(odd.size() == 1);
    CHECK(odd[0].oddity == Oddity::kNearConstant);
    CHECK(odd_of(a, a, a + 1.1e-4, a + 1.1e-4).empty());
  }
}

TEST_CASE("an extreme far beyond the quantiles is an outlier, and says which") {
  CHECK(odd_of(-3, -1, 1, 3).empty());
  CHECK(odd_of(-20.9, -1, 1, 20.9).empty());
  const auto high = odd_of(-3, -1, 1, 1e6);
  REQUIRE(high.size() == 1);
  CHECK(high[0].oddity == Oddity::kOutlier);
  CHECK_FALSE(high[0].is_min_far);
  CHECK(high[0].is_max_far);
  const auto both = odd_of(-21.1, -1, 1, 21.1);
  REQUIRE(both.size() == 1);
  CHECK((both[0].is_min_far && both[0].is_max_far));
}

TEST_CASE("a dimension that leaves one value in less than 1 % of the rows rarely moves") {
  const auto odd = odd_of(0, 0, 0, 1);
  REQUIRE(odd.size() == 1);
  CHECK(odd[0].oddity == Oddity::kRarelyMoves);
}
