#include "data/check/pictures.h"

#include <algorithm>

#include <ATen/ops/full.h>

#include "core/base/errors.h"
#include "data/check/check.h"
#include "test/support/catch.h"
#include "test/unit/data/check/check_set.h"

using Catch::Contains;
using wam::FaultKind;
using wam::Motion;
using wam::lerobot_writer::Recording;
using wam::test::check_options;
using wam::test::faults_of;
using wam::test::in_short;
using wam::test::WrittenSet;
using Shorts = std::vector<std::string>;

namespace {

// Frames [first, 48) of a camera become its frame `first`.
void freeze(Recording& recording, std::size_t camera, std::size_t first) {
  auto& pictures = recording.pictures_THWC[camera];
  const std::size_t bytes = pictures.size() / 48;
  const auto from = pictures.begin() + static_cast<std::ptrdiff_t>(first * bytes);
  for (std::size_t i = first + 1; i < 48; ++i) {
    std::copy_n(from, bytes, pictures.begin() + static_cast<std::ptrdiff_t>(i * bytes));
  }
}

}  // namespace

TEST_CASE("motion: noise is no change, a small part that moves is one") {
  at::Tensor pictures = at::full({12, 64, 64, 3}, 100, at::kByte);
  auto* data = pictures.data_ptr<std::uint8_t>();
  for (std::int64_t i = 0; i < pictures.numel(); ++i) {
    data[i] = static_cast<std::uint8_t>(95 + (i * 7919) % 11);
  }
  Motion noise;
  noise.add(pictures);
  CHECK(noise.frames() == 12);
  CHECK(noise.still_frames() == 12);

  pictures.slice(0, 5, 6).slice(1, 8, 12).slice(2, 8, 12).fill_(200);  // 4 x 4 pixels, one frame
  Motion part;
  part.add(pictures.slice(0, 0, 7).contiguous());
  part.add(pictures.slice(0, 7, 12).contiguous());
  CHECK(part.frames() == 12);
  CHECK(part.still_frames() == 6);
  CHECK(part.still_begin() == 6);
}

TEST_CASE("motion: only pictures that show nothing are blank") {
  at::Tensor pictures = at::full({3, 16, 16, 3}, 7, at::kByte);
  Motion blank;
  CHECK_FALSE(blank.is_blank());
  blank.add(pictures);
  CHECK(blank.is_blank());
  pictures.slice(0, 2, 3).slice(1, 0, 8).fill_(60);
  blank.add(pictures);
  CHECK_FALSE(blank.is_blank());
}

TEST_CASE("check: frozen and blank cameras, and clips in which no picture changes") {
  const WrittenSet set({.edit = [](std::int64_t e, Recording& recording) {
    if (e == 1) freeze(recording, 2, 0);
    if (e == 2) std::fill(recording.pictures_THWC[0].begin(), recording.pictures_THWC[0].end(), 0);
    for (std::size_t c = 0; c < 3 && e == 3; ++c) freeze(recording, c, 10);
  }});
  const auto report = wam::check_dataset(check_options(set.root()));

  REQUIRE(in_short(report) == Shorts{"near-static clip 3 10 none", "frozen camera 1 -1 none",
                                     "blank camera 2 -1 none"});
  CHECK_THAT(report.faults[0].message, Contains("38 frames"));
  CHECK(report.faults[1].file == "videos/chunk-000/observation.images.wrist/episode_000001.mp4");
  const auto quick = wam::check_dataset(check_options(set.root(), wam::CheckDepth::kQuick));
  CHECK(quick.faults.empty());
  CHECK(quick.sheet.rows.empty());
}

TEST_CASE("check: a picture that does not decode is told with its frame") {
  // Bytes in the middle of the media are lost; the index knows nothing of it.
  const WrittenSet set;
  const auto file = set.video("right", 2);
  const auto reader = wam::LeRobotReader(set.root());
  {
    std::FILE* stream = std::fopen(file.c_str(), "r+b");
    REQUIRE(stream != nullptr);
    const auto bytes = static_cast<long>(std::filesystem::file_size(file));
    std::fseek(stream, bytes * 2 / 5, SEEK_SET);
    for (long i = 0; i < bytes / 5; ++i) std::fputc(0, stream);
    std::fclose(stream);
  }
  const auto report = wam::check_dataset(check_options(set.root()));
  const auto bad = faults_of(report, FaultKind::kUndecodable);
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].episode == 2);
  CHECK(bad[0].effect == wam::Effect::kBadSample);
  REQUIRE(bad[0].frame);
  const std::int64_t frame[] = {*bad[0].frame};
  CHECK_THROWS_AS(reader.read_frames(2, "observation.images.right", frame), wam::DataError);
  for (std::int64_t i = 0; i < *bad[0].frame; ++i) {
    const std::int64_t before[] = {i};
    CHECK_NOTHROW(reader.read_frames(2, "observation.images.right", before));
  }
}

TEST_CASE("check: the sheet shows windows on the model's canvas, and what a sample costs") {
  const WrittenSet set;
  const auto report = wam::check_dataset(check_options(set.root()));
  REQUIRE(report.sheet.rows.size() == 5);  // four episodes, and one as in training
  CHECK(report.sheet.rows[0].instruction == "reach 0");
  CHECK(report.sheet.rows[0].frames.front() == 0);
  CHECK(report.sheet.rows[0].frames.back() == 32);
  CHECK(report.sheet.rows[1].is_jittered);
  CHECK(report.sheet.rows[2].episode == 1);
  // Record "tiny": a canvas of two by two views.
  CHECK(report.sheet.rows[0].canvas_HWC[0].sizes() == at::IntArrayRef({64, 128, 3}));
  CHECK(report.sheet.cost.samples == 4);
  CHECK(report.sheet.cost.decode_s > 0);
  CHECK(report.sheet.cost.transform_s > 0);
}
