#include <filesystem>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>

#include "data/lerobot/reader.h"
#include "data/lerobot_writer/writer.h"
#include "data/sample_world/sample_world.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

using lerobot_writer::PictureLayout;
using lerobot_writer::Version;

// FFmpeg's own encoder: x264's bits have been seen to depend on more than its input.
constexpr const char* kEncoder = "mpeg4";

void write(const std::filesystem::path& path, Version version, PictureLayout layout) {
  Log log({.console = false, .file = {}});
  SampleWorldOptions options{.path = path, .version = version, .layout = layout, .episodes = 6};
  if (layout == PictureLayout::kMp4) options.video_encoder = kEncoder;
  write_sample_world(options, log);
}

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

void check_equal(const LeRobotReader& a, const LeRobotReader& b) {
  REQUIRE(a.num_episodes() == b.num_episodes());
  CHECK(a.meta().tasks == b.meta().tasks);
  for (std::int64_t e = 0; e < a.num_episodes(); ++e) {
    INFO("episode " << e);
    REQUIRE(a.episode_length(e) == b.episode_length(e));
    CHECK(a.columns(e) == b.columns(e));
    for (const char* column : {"observation.state", "action", "timestamp", "frame_index",
                               "episode_index", "index", "task_index"}) {
      CHECK(at::equal(a.read_column(e, column), b.read_column(e, column)));
    }
    const auto frames = counted(a.episode_length(e));
    for (const LeRobotFeature& camera : a.meta().info.features) {
      if (!camera.is_camera()) continue;
      CHECK(
          at::equal(a.read_frames(e, camera.name, frames), b.read_frames(e, camera.name, frames)));
    }
  }
}

}  // namespace

TEST_CASE("Sample world: v3.0 holds what v2.1 holds, to the last bit of every picture") {
  const test::TempFolder folder;
  for (const auto layout : {PictureLayout::kMp4, PictureLayout::kImages}) {
    const std::string name(name_of(layout));
    write(folder.path() / (name + "21"), Version::k21, layout);
    write(folder.path() / (name + "30"), Version::k30, layout);
    const LeRobotReader shared(folder.path() / (name + "30"));
    CHECK(shared.meta().info.version == "v3.0");
    CHECK(
        std::filesystem::exists(folder.path() / (name + "30") / "data/chunk-000/file-000.parquet"));
    check_equal(LeRobotReader(folder.path() / (name + "21")), shared);
  }
}

TEST_CASE("LeRobot writer: v3.0 goes on in a new file when one is full, each camera by itself") {
  const test::TempFolder folder;
  lerobot_writer::Format format;
  format.robot_type = "bench";
  format.video_encoder = kEncoder;
  format.cameras = {{"observation.images.still", {32, 48}}, {"observation.images.noisy", {32, 48}}};
  format.vectors = {{"observation.state", {"a"}}, {"action", {"a"}}};
  format.data_file_bytes = 1;  // an episode a file
  format.video_file_bytes = 20'000;
  format.files_in_chunk = 2;
  for (const auto version : {Version::k21, Version::k30}) {
    format.version = version;
    lerobot_writer::Writer writer(folder.path() / std::string(name_of(version)), format);
    for (std::int64_t e = 0; e < 5; ++e) {
      const std::int64_t frames = 6 + e;
      const auto bytes = static_cast<std::size_t>(frames * 32 * 48 * 3);
      lerobot_writer::Recording recording{"task", frames, {}, {}};
      recording.pictures_THWC.assign(2, std::vector<std::uint8_t>(bytes, 90));
      for (std::size_t i = 0; i < bytes; ++i) {
        recording.pictures_THWC[1][i] = static_cast<std::uint8_t>(i * i * 2654435761U >> 7U);
      }
      recording.vectors.assign(2, std::vector<float>(static_cast<std::size_t>(frames), 1.0F));
      writer.add(recording);
    }
    writer.finish();
  }
  const auto root = folder.path() / "v3.0";
  CHECK(std::filesystem::exists(root / "data/chunk-002/file-000.parquet"));
  CHECK_FALSE(std::filesystem::exists(root / "data/chunk-002/file-001.parquet"));
  CHECK_FALSE(
      std::filesystem::exists(root / "videos/observation.images.still/chunk-000/file-001.mp4"));
  CHECK(std::filesystem::exists(root / "videos/observation.images.noisy/chunk-000/file-001.mp4"));
  check_equal(LeRobotReader(folder.path() / "v2.1"), LeRobotReader(root));
}

}  // namespace wam
