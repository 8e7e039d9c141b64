#include "data/sample_world/sample_world.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/embodiment/binding.h"
#include "data/lerobot/reader.h"
#include "data/sample_world/episode.h"
#include "data/sample_world/picture.h"
#include "data/window/window.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam {
namespace {

using lerobot_writer::PictureLayout;
using std::filesystem::path;

SampleWorldOptions small(const path& folder, PictureLayout layout = PictureLayout::kMp4) {
  return {.path = folder, .layout = layout, .episodes = 2, .seed = 5, .home_share = 0.5};
}

void write(const SampleWorldOptions& options) {
  Log log({.console = false, .file = ""});
  write_sample_world(options, log);
}

// What is logged while writing.
std::string log_of(const SampleWorldOptions& options, const path& file) {
  {
    Log log({.console = false, .file = file.string()});
    write_sample_world(options, log);
  }
  return read_file(file);
}

std::string error_of(const SampleWorldOptions& options) {
  try {
    write(options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

// Relative paths and contents of all files, in order.
std::vector<std::pair<std::string, std::string>> contents(const path& root) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    out.emplace_back(entry.path().lexically_relative(root).string(), read_file(entry.path()));
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::uint8_t> drawn(const sample_world::Episode& episode, int view) {
  std::vector<std::uint8_t> pixels;
  for (const auto& joints : episode.state) {
    sample_world::draw(pixels, view, episode.scene, joints);
  }
  return pixels;
}

// All pictures of a view as the reader returns them.
at::Tensor read_view(const LeRobotReader& reader, std::int64_t episode, int view) {
  std::vector<std::int64_t> frames(static_cast<std::size_t>(reader.episode_length(episode)));
  std::iota(frames.begin(), frames.end(), 0);
  const auto name = sample_world::kViewNames[static_cast<std::size_t>(view)];
  return reader.read_frames(episode, "observation.images." + std::string(name), frames)
      .contiguous();
}

// Largest and mean difference to the drawn pictures, in levels of 255.
struct Difference {
  int largest = 0;
  double mean = 0;
};

Difference difference(const at::Tensor& read, const std::vector<std::uint8_t>& expected) {
  REQUIRE(static_cast<std::size_t>(read.numel()) == expected.size());
  const auto* values = read.const_data_ptr<std::uint8_t>();
  Difference out;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int off = std::abs(values[i] - expected[i]);
    out.largest = std::max(out.largest, off);
    out.mean += off;
  }
  out.mean /= static_cast<double>(expected.size());
  return out;
}

}  // namespace

TEST_CASE("Sample world: the same options give the same bytes") {
  for (const auto layout : {PictureLayout::kMp4, PictureLayout::kImages}) {
    const test::TempFolder folder;
    write(small(folder.path() / "a", layout));
    write(small(folder.path() / "b", layout));
    auto other = small(folder.path() / "c", layout);
    other.seed = 6;
    write(other);

    CHECK(contents(folder.path() / "a") == contents(folder.path() / "b"));
    CHECK(contents(folder.path() / "a") != contents(folder.path() / "c"));
  }
}

TEST_CASE("Sample world: both layouts read back as what was simulated") {
  const test::TempFolder folder;
  write(small(folder.path() / "mp4"));
  write(small(folder.path() / "images", PictureLayout::kImages));
  const LeRobotReader mp4(folder.path() / "mp4");
  const LeRobotReader images(folder.path() / "images");

  for (std::int64_t i = 0; i < 2; ++i) {
    const auto episode = sample_world::simulate(5, i, 0.5);
    for (const auto* reader : {&mp4, &images}) {
      const at::Tensor state = reader->read_column(i, "observation.state");
      const at::Tensor action = reader->read_column(i, "action");

      CHECK(reader->episode_length(i) == static_cast<std::int64_t>(episode.state.size()));
      CHECK(std::equal(episode.state[0].data(), episode.state[0].data() + state.numel(),
                       state.contiguous().const_data_ptr<float>()));
      CHECK(std::equal(episode.action[0].data(), episode.action[0].data() + action.numel(),
                       action.contiguous().const_data_ptr<float>()));
      CHECK(reader->read_language(i, find_language_column(reader->meta(), "annotation.task"))[3] ==
            sample_world::instruction(episode.scene.named));
    }
    for (int view = 0; view < sample_world::kViews; ++view) {
      CHECK(difference(read_view(images, i, view), drawn(episode, view)).largest == 0);
      CHECK(difference(read_view(mp4, i, view), drawn(episode, view)).mean < 6);
    }
  }
}

TEST_CASE("Sample world: modality.json gives the keys of the embodiment their columns") {
  const test::TempFolder folder;
  write(small(folder.path() / "world", PictureLayout::kImages));
  const LeRobotReader reader(folder.path() / "world");

  const auto state = find_vector_columns(reader.meta(), VectorKind::kState, {"joint_position"});
  const auto action = find_vector_columns(reader.meta(), VectorKind::kAction, {"joint_position"});

  CHECK((state == std::vector{ColumnSlice{"observation.state", 0, 3}}));
  CHECK((action == std::vector{ColumnSlice{"action", 0, 3}}));
  CHECK(find_camera(reader.meta(), "video.wrist") == "observation.images.wrist");
}

TEST_CASE("Sample world: the record `tiny` fits it, and every episode has windows") {
  const test::TempFolder folder;
  write(small(folder.path() / "world"));
  const LeRobotReader reader(folder.path() / "world");
  const Embodiment tiny = find_embodiment("tiny", path(WAM_SOURCE_DIR) / "configs" / "embodiment");

  const Binding binding = bind(reader, tiny);

  CHECK((binding.state == std::vector{ColumnSlice{"observation.state", 0, 3}}));
  CHECK(binding.cameras[2] == "observation.images.wrist");
  CHECK((binding.picture == PictureSize{32, 64}));
  const WindowRule rule{.blocks = 4,
                        .horizon = tiny.action_horizon,
                        .stride = tiny.macro_stride,
                        .offsets = tiny.video_offsets};
  for (std::int64_t i = 0; i < reader.num_episodes(); ++i) {
    const auto length = static_cast<std::size_t>(reader.episode_length(i));
    const std::vector<std::int64_t> one_label(length, 0);
    CHECK(valid_starts(one_label, rule).size() >= 45 - 33 + 1);
  }
}

TEST_CASE("Sample world: every video encoder that is here keeps the pictures") {
  for (const char* encoder : {"libx264", "libaom-av1", "mpeg4"}) {
    try {
      lerobot_writer::choose_video_encoder(encoder);
    } catch (const ConfigError&) {
      continue;
    }
    const test::TempFolder folder;
    auto options = small(folder.path() / "world");
    options.video_encoder = encoder;
    options.episodes = 1;
    write(options);
    const LeRobotReader reader(options.path);
    const auto off =
        difference(read_view(reader, 0, 0), drawn(sample_world::simulate(5, 0, 0.5), 0));

    INFO(encoder);
    std::printf("%s: mean difference %.2f\n", encoder, off.mean);
    CHECK(off.mean < 6);
  }
}

TEST_CASE("Sample world: a finished one is kept, an interrupted one is written again") {
  const test::TempFolder folder;
  const auto options = small(folder.path() / "world", PictureLayout::kImages);
  write(options);
  const auto first = contents(options.path);
  const path episode = options.path / "data/chunk-000/episode_000001.parquet";
  const auto written = std::filesystem::last_write_time(episode);

  CHECK_THAT(log_of(options, folder.path() / "kept.log"), Catch::Contains("kept as it is"));
  CHECK(std::filesystem::last_write_time(episode) == written);

  const path marker = options.path / "meta/sample_world.json";
  std::string text = read_file(marker);
  text.replace(text.find("true"), 4, "false");
  write_file_atomically(marker, text);
  std::filesystem::remove(episode);
  CHECK_THAT(log_of(options, folder.path() / "again.log"), Catch::Contains("interrupted"));
  CHECK(contents(options.path) == first);
}

TEST_CASE("Sample world: what is in the way is refused and left alone") {
  const test::TempFolder folder;
  const path world = folder.path() / "world";
  write(small(world, PictureLayout::kImages));
  auto other = small(world, PictureLayout::kImages);
  other.seed = 6;
  other.episodes = 3;

  CHECK_THAT(error_of(other), Catch::Contains("episodes 2 (wanted 3), seed 5 (wanted 6)") &&
                                  Catch::Contains("Fix:"));
  CHECK_THAT(error_of(small(folder.path())), Catch::Contains("holds something else"));
  CHECK_THAT(error_of(small(world / "meta/info.json")), Catch::Contains("found a file"));
  CHECK(std::filesystem::exists(world / "data/chunk-000/episode_000001.parquet"));
}

TEST_CASE("Sample world: all bad options are reported at once") {
  SampleWorldOptions options;
  options.episodes = 0;
  options.home_share = 1.5;
  options.layout = PictureLayout::kImages;
  options.video_encoder = "libx264";

  CHECK_THAT(error_of(options), Catch::Contains("no folder") && Catch::Contains("0 episodes") &&
                                    Catch::Contains("home share 1.5") &&
                                    Catch::Contains("this layout has no videos"));
}

}  // namespace wam
