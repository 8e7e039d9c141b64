#include "data/lerobot_writer/feature_statistics.h"

#include "test/support/catch.h"

namespace wam::lerobot_writer {

TEST_CASE("Feature statistics: per column, with the population's deviation") {
  const FeatureStatistics statistics = column_statistics({1, 10, 2, 20, 6, 60}, 2);

  CHECK(statistics.min == std::vector<double>{1, 10});
  CHECK(statistics.max == std::vector<double>{6, 60});
  CHECK(statistics.mean == std::vector<double>{3, 30});
  CHECK(statistics.std[0] == Approx(2.1602468995));
  CHECK(statistics.std[1] == Approx(21.602468995));
  CHECK(statistics.count == 3);
}

TEST_CASE("Feature statistics: pictures per channel in [0, 1]") {
  // Two pictures of two pixels.
  const std::vector<std::uint8_t> pictures{0, 51, 255, 255, 51, 255, 0, 51, 255, 255, 51, 0};

  const FeatureStatistics statistics = picture_statistics(pictures, 2);

  CHECK(statistics.min == std::vector<double>{0, 0.2, 0});
  CHECK(statistics.max == std::vector<double>{1, 0.2, 1});
  CHECK(statistics.mean[0] == Approx(0.5));
  CHECK(statistics.mean[1] == Approx(0.2));
  CHECK(statistics.mean[2] == Approx(0.75));
  CHECK(statistics.std[0] == Approx(0.5));
  CHECK(statistics.std[1] == Approx(0.0).margin(1e-12));
  CHECK(statistics.std[2] == Approx(0.4330127019));
  CHECK(statistics.count == 2);
}

// numpy: np.round(np.linspace(0, rows - 1, num=count)) with LeRobot's count.
TEST_CASE("Feature statistics: which pictures are looked at") {
  CHECK(statistics_frames(1) == std::vector<std::int64_t>{0});
  CHECK(statistics_frames(3) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(statistics_frames(100).size() == 100);
  const auto frames = statistics_frames(1000);
  CHECK(frames.size() == 177);
  CHECK(frames.front() == 0);
  CHECK(frames[1] == 6);
  CHECK(frames.back() == 999);
  CHECK(statistics_frames(1'000'000).size() == 10'000);
}

TEST_CASE("Feature statistics: two episodes pooled are those of all rows") {
  const std::vector<double> a = {1, 10, 2, 20, 4, 10};
  const std::vector<double> b = {-3, 5, 8, 90};
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto expected = column_statistics(all, 2);
  const auto found = pooled(column_statistics(a, 2), column_statistics(b, 2));
  CHECK(found.count == 5);
  CHECK(found.min == expected.min);
  CHECK(found.max == expected.max);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(found.mean[c] == Approx(expected.mean[c]));
    CHECK(found.std[c] == Approx(expected.std[c]));
  }
}

}  // namespace wam::lerobot_writer
