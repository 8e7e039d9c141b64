#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "data/normalise/compute.h"
#include "data/normalise/normaliser.h"
#include "data/normalise/settle.h"
#include "test/dataset/samples/golden_set.h"
#include "test/support/catch.h"

using wam::KeyStatistics;
using wam::test::GoldenSet;

namespace {

void check_numbers(const std::vector<double>& ours,
                   const std::vector<double>& expected,
                   double tolerance) {
  REQUIRE(ours.size() == expected.size());
  for (std::size_t d = 0; d < ours.size(); ++d) {
    CHECK(std::abs(ours[d] - expected[d]) <= tolerance * std::max(1.0, std::abs(expected[d])));
  }
}

void check_key(const KeyStatistics& ours, const KeyStatistics& expected, double tolerance) {
  check_numbers(ours.min, expected.min, tolerance);
  check_numbers(ours.max, expected.max, tolerance);
  check_numbers(ours.mean, expected.mean, tolerance);
  check_numbers(ours.std, expected.std, tolerance);
  check_numbers(ours.q01, expected.q01, tolerance);
  check_numbers(ours.q99, expected.q99, tolerance);
}

std::filesystem::path stats_file(const GoldenSet& set) {
  return wam::test::samples_folder() /
         (set.json().at("dataset").get<std::string>() + ".stats.json");
}

}  // namespace

TEST_CASE("statistics equal those of the reference's tools, relative ones those of its loader") {
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    INFO(set.name());
    const auto& tag = set.embodiment().tag;
    const auto ours =
        wam::compute_statistics({{set.reader().get(), &set.binding()}}, set.embodiment()).statistics;
    const auto tool = wam::test::statistics_in(stats_file(set), "rlinf_tool", tag);
    for (const auto& [key, values] : ours.state) {
      INFO("state." << key);
      check_key(values, tool.state.at(key), 1e-12);
    }
    for (const auto& [key, values] : ours.action) {
      INFO("action." << key);
      const bool relative = set.embodiment().is_relative(key);
      CHECK(values.relative == relative);
      if (relative) {
        const auto official = wam::test::statistics_in(stats_file(set), "official_loader", tag);
        check_key(values, official.action.at(key), 1e-6);
      } else {
        check_key(values, tool.action.at(key), 1e-12);
      }
    }
  }
}

TEST_CASE("the reference tool's absolute statistics are remarked on for relative actions") {
  int remarked = 0;
  for (const auto& path : wam::test::golden_sets()) {
    const GoldenSet set(path);
    if (set.embodiment().relative_action_keys.empty()) continue;
    INFO(set.name());
    auto tool = wam::test::statistics_in(stats_file(set), "rlinf_tool", set.embodiment().tag);
    CHECK(wam::settle(set.statistics(), set.embodiment(), 0).remarks.empty());
    const auto settled = wam::settle(tool, set.embodiment(), 0);
    REQUIRE(settled.remarks.size() == 1);
    CHECK_THAT(settled.remarks[0], Catch::Contains("same range as the state's"));
    tool.action.at(set.embodiment().relative_action_keys[0]).relative = false;
    CHECK_THROWS_WITH(wam::VectorNormaliser::of_action(set.embodiment(), tool),
                      Catch::Contains("relative to the state"));
    CHECK_NOTHROW(wam::VectorNormaliser::of_action(set.embodiment(), set.statistics()));
    ++remarked;
  }
  if (!wam::test::golden_sets().empty()) CHECK(remarked > 0);
}
