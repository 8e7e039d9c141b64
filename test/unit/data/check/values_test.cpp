#include "data/check/values.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/io/atomic_file.h"
#include "data/check/check.h"
#include "data/check/text.h"
#include "data/check/verdict.h"
#include "test/support/catch.h"
#include "test/unit/data/check/check_set.h"

using Catch::Contains;
using wam::CheckDepth;
using wam::FaultKind;
using wam::lerobot_writer::PictureLayout;
using wam::lerobot_writer::Recording;
using wam::test::check_options;
using wam::test::CheckSet;
using wam::test::faults_of;
using wam::test::in_short;
using wam::test::WrittenSet;
using Shorts = std::vector<std::string>;

namespace {

constexpr std::size_t kState = 0;
constexpr std::size_t kAction = 1;

// What is said of a set whose episodes `edit` has changed; pictures are not looked at.
wam::CheckReport report_of(const std::function<void(std::int64_t, Recording&)>& edit,
                           std::int64_t episodes = 4,
                           unsigned threads = 2) {
  const WrittenSet set({.episodes = episodes, .layout = PictureLayout::kImages, .edit = edit});
  auto options = check_options(set.root(), CheckDepth::kQuick);
  options.threads = threads;
  return wam::check_dataset(options);
}

float& value(Recording& recording, std::size_t vector, std::size_t row, std::size_t d) {
  return recording.vectors[vector][3 * row + d];
}

}  // namespace

TEST_CASE("check: a NaN in one state row is a fault with episode and row") {
  const auto report = report_of([](std::int64_t e, Recording& recording) {
    if (e != 2) return;
    value(recording, kState, 17, 1) = std::nanf("");
    value(recording, kAction, 30, 0) = std::numeric_limits<float>::infinity();
  });
  REQUIRE(in_short(report) == Shorts{"not a number 2 17 bad sample"});
  CHECK_THAT(report.faults[0].message, Contains("2 values") && Contains("state.joint_position[1]"));
  CHECK(wam::judge({report}, false).verdict == wam::Verdict::kEnds);
  CHECK(wam::judge({report}, true).verdict == wam::Verdict::kSkips);
}

TEST_CASE("check: constant, near-constant and outlying actions are listed") {
  const auto report = report_of([](std::int64_t e, Recording& recording) {
    for (std::size_t i = 0; i < 48; ++i) {
      value(recording, kAction, i, 0) = 0.04F;
      value(recording, kAction, i, 1) = 0.7F + 5e-5F * std::sin(static_cast<float>(i));
    }
    if (e == 1) value(recording, kAction, 20, 2) = 1e6F;
  });
  const auto found = [&](FaultKind kind) {
    const auto faults = faults_of(report, kind);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].effect == wam::Effect::kNone);
    return faults[0];
  };
  CHECK_THAT(found(FaultKind::kConstant).message,
             Contains("action.joint_position[0]: every value is 0.04"));
  CHECK_THAT(found(FaultKind::kNearConstant).message, Contains("action.joint_position[1]"));
  const auto outlier = found(FaultKind::kOutlier);
  CHECK_THAT(outlier.message, Contains("action.joint_position[2]: max 1e+06"));
  CHECK(outlier.episode == 1);
  CHECK(outlier.frame == 20);
  CHECK(wam::judge({report}, false).verdict == wam::Verdict::kRunsThrough);
  // The outlier does not squeeze the histogram.
  const auto& dimension = report.dimensions.back();
  CHECK(dimension.high < 10);
  CHECK(dimension.above == 1);
}

TEST_CASE("check: an action that jumps is told with its row, a wrapping angle as one") {
  const auto report = report_of(
      [](std::int64_t e, Recording& recording) {
        for (std::size_t i = 25; i < 48; ++i) {
          if (e == 1) value(recording, kAction, i, 0) += 1.9F;
          if (e == 3) value(recording, kAction, i, 2) += 6.28F;
        }
      },
      8);
  const auto jumps = faults_of(report, FaultKind::kJump);
  REQUIRE(jumps.size() == 2);
  CHECK(jumps[0].episode == 1);
  CHECK(jumps[0].frame == 25);
  CHECK_THAT(jumps[0].message, Contains("action.joint_position[0] jumps by"));
  CHECK(jumps[1].episode == 3);
  CHECK_THAT(jumps[1].message, Contains("wraps around"));
}

TEST_CASE("check: an action that jumps with its state tells of frames that were cut out, a note") {
  const auto report = report_of([](std::int64_t e, Recording& recording) {
    for (std::size_t i = 25; i < 48 && e == 1; ++i) {
      value(recording, kState, i, 0) += 1.9F;
      value(recording, kAction, i, 0) += 1.9F;
    }
  });
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].kind == FaultKind::kIdleFramesCut);
  CHECK(report.faults[0].episode == 1);
  CHECK(report.faults[0].frame == 25);
}

TEST_CASE("check: a gripper that opens and closes in every episode does not jump") {
  const auto report = report_of([](std::int64_t, Recording& recording) {
    for (std::size_t i = 0; i < 48; ++i) {
      const float noise = 1e-3F * std::sin(static_cast<float>(i));
      value(recording, kAction, i, 2) = (i % 32 < 16 ? 0.0F : 1.0F) + noise;
    }
  });
  CHECK(faults_of(report, FaultKind::kJump).empty());
}

TEST_CASE("check: an episode in which nothing moves is near-static") {
  const auto report = report_of([](std::int64_t e, Recording& recording) {
    if (e != 1) return;
    for (std::size_t v : {kState, kAction}) {
      for (std::size_t i = 0; i < 48; ++i) {
        for (std::size_t d = 0; d < 3; ++d) value(recording, v, i, d) = 0.3F;
      }
    }
  });
  REQUIRE(in_short(report) == Shorts{"near-static clip 1 -1 none"});
}

TEST_CASE("check: episodes of equal values are duplicates, told once") {
  std::vector<float> state;
  std::vector<float> action;
  const auto report = report_of(
      [&](std::int64_t e, Recording& recording) {
        if (e == 1) state = recording.vectors[kState];
        if (e == 1) action = recording.vectors[kAction];
        if (e == 3 || e == 4) recording.vectors = {state, action};
      },
      6);
  REQUIRE(in_short(report) == Shorts{"duplicate episodes 1 -1 none"});
  CHECK_THAT(report.faults[0].message, Contains("episodes 3-4"));
}

TEST_CASE("check: the report does not depend on the number of threads") {
  const auto edit = [](std::int64_t e, Recording& recording) {
    if (e % 3 == 1) value(recording, kState, 17, 1) = std::nanf("");
    if (e % 4 == 2) value(recording, kAction, 20, 2) = 1e5F;
  };
  const auto one = report_of(edit, 12, 1);
  const auto four = report_of(edit, 12, 4);
  CHECK(!one.faults.empty());
  const auto json = [](wam::CheckReport report) {
    report.root = "set";
    report.name = "set";
    return wam::check_json({report}, wam::judge({report}, false));
  };
  CHECK(json(one) == json(four));
}

TEST_CASE("check: statistics are of all rows, bars of a sample of them") {
  const auto report = report_of({});
  REQUIRE(report.dimensions.size() == 6);
  const auto& first = report.dimensions[0];
  CHECK(first.name == "state.joint_position[0]");
  CHECK(first.min >= -1.001);
  CHECK(first.min < -0.9);
  CHECK(first.q99 <= first.max);
  std::int64_t counted = first.below + first.above;
  for (const auto count : first.counts) counted += count;
  CHECK(counted == 4 * 48);
}
