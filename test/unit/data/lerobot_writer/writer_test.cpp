#include "data/lerobot_writer/writer.h"

#include <sstream>

#include <arrow/array.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>
#include <parquet/arrow/reader.h>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam::lerobot_writer {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr PictureSize kSize{32, 48};

Format format_with(PictureLayout pictures) {
  return {.robot_type = "bench",
          .fps = 5,
          .pictures = pictures,
          .video_encoder = "auto",
          .cameras = {{"observation.images.top", kSize}},
          .vectors = {{"observation.state", {"a", "b"}}, {"action", {"c"}}}};
}

Recording recording_of(const std::string& task, std::int64_t frames) {
  Recording recording{task, frames, {{}}, {{}, {}}};
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (int i = 0; i < kSize.height * kSize.width * 3; ++i) {
      recording.pictures_THWC[0].push_back(static_cast<std::uint8_t>((i + 9 * frame) % 200));
    }
    const auto value = static_cast<float>(frame);
    recording.vectors[0].insert(recording.vectors[0].end(), {value, -value});
    recording.vectors[1].push_back(value + 0.5F);
  }
  return recording;
}

path write_two(const path& root, PictureLayout pictures) {
  Writer writer(root, format_with(pictures));
  writer.add(recording_of("first", 3));
  writer.add(recording_of("second", 4));
  writer.finish();
  return root;
}

std::shared_ptr<arrow::Table> read_table(const path& file) {
  const auto input = arrow::io::ReadableFile::Open(file.string()).ValueOrDie();
  auto reader = parquet::arrow::OpenFile(input, arrow::default_memory_pool()).ValueOrDie();
  return reader->ReadTable().ValueOrDie();
}

const arrow::Array& column(const arrow::Table& table, const std::string& name) {
  return *table.GetColumnByName(name)->chunk(0);
}

json line_of(const path& file, std::size_t line) {
  std::istringstream stream(read_file(file));
  std::string text;
  for (std::size_t i = 0; i <= line; ++i) std::getline(stream, text);
  return json::parse(text);
}

}  // namespace

TEST_CASE("LeRobot writer: tables hold vectors, times and the counts of LeRobot") {
  const test::TempFolder folder;
  const path root = write_two(folder.path(), PictureLayout::kMp4);

  const auto table = read_table(root / "data/chunk-000/episode_000001.parquet");

  CHECK(table->num_rows() == 4);
  CHECK(table->schema()->ToString().find("observation.images.top") == std::string::npos);
  const auto& state =
      dynamic_cast<const arrow::FixedSizeListArray&>(column(*table, "observation.state"));
  const auto& values = dynamic_cast<const arrow::FloatArray&>(*state.values());
  CHECK(values.Value(4) == 2.0F);
  CHECK(values.Value(5) == -2.0F);
  const auto& action = dynamic_cast<const arrow::FloatArray&>(column(*table, "action"));
  CHECK(action.Value(3) == 3.5F);
  const auto& time = dynamic_cast<const arrow::FloatArray&>(column(*table, "timestamp"));
  CHECK(time.Value(3) == 0.6F);
  const auto integer = [&](const char* name, std::int64_t row) {
    return dynamic_cast<const arrow::Int64Array&>(column(*table, name)).Value(row);
  };
  CHECK(integer("frame_index", 3) == 3);
  CHECK(integer("episode_index", 3) == 1);
  CHECK(integer("index", 3) == 6);
  CHECK(integer("task_index", 3) == 1);
}

TEST_CASE("LeRobot writer: meta files describe episodes, tasks and features") {
  const test::TempFolder folder;
  const path meta = write_two(folder.path(), PictureLayout::kMp4) / "meta";

  const json info = json::parse(read_file(meta / "info.json"));

  CHECK(info["codebase_version"] == "v2.1");
  CHECK(info["total_episodes"] == 2);
  CHECK(info["total_frames"] == 7);
  CHECK(info["total_videos"] == 2);
  CHECK(info["fps"] == 5);
  CHECK(info["splits"]["train"] == "0:2");
  const json camera = info["features"]["observation.images.top"];
  CHECK(camera["dtype"] == "video");
  CHECK(camera["shape"] == json({32, 48, 3}));
  CHECK(camera["info"]["video.codec"] == choose_video_encoder("auto").codec);
  CHECK(info["features"]["observation.state"]["shape"] == json::array({2}));
  CHECK(info["features"]["action"]["names"] == json::array({"c"}));
  CHECK(line_of(meta / "tasks.jsonl", 1) == json({{"task_index", 1}, {"task", "second"}}));
  CHECK(line_of(meta / "episodes.jsonl", 1) ==
        json({{"episode_index", 1}, {"tasks", json::array({"second"})}, {"length", 4}}));
  const json stats = line_of(meta / "episodes_stats.jsonl", 1)["stats"];
  CHECK(stats["observation.state"]["mean"] == json({1.5, -1.5}));
  CHECK(stats["observation.state"]["count"] == json::array({4}));
  CHECK(stats["index"]["max"] == json::array({6.0}));
  CHECK(stats["observation.images.top"]["mean"].size() == 3);
  CHECK(stats["observation.images.top"]["mean"][0][0].size() == 1);
}

TEST_CASE("LeRobot writer: pictures in parquet are PNG files that the datasets library knows") {
  const test::TempFolder folder;
  const path root = write_two(folder.path(), PictureLayout::kImages);

  const auto table = read_table(root / "data/chunk-000/episode_000000.parquet");
  const json info = json::parse(read_file(root / "meta/info.json"));

  const auto& cells =
      dynamic_cast<const arrow::StructArray&>(column(*table, "observation.images.top"));
  const auto bytes = std::dynamic_pointer_cast<arrow::BinaryArray>(cells.GetFieldByName("bytes"));
  const auto names = std::dynamic_pointer_cast<arrow::StringArray>(cells.GetFieldByName("path"));
  REQUIRE(bytes != nullptr);
  REQUIRE(names != nullptr);
  CHECK(bytes->GetView(2).substr(1, 3) == "PNG");
  CHECK(names->GetView(2) == "frame_000002.png");
  const std::string text = table->schema()->metadata()->Get("huggingface").ValueOrDie();
  const json features = json::parse(text)["info"]["features"];
  CHECK(features["observation.images.top"] == json({{"_type", "Image"}}));
  CHECK(features["observation.state"]["length"] == 2);
  CHECK(info["features"]["observation.images.top"]["dtype"] == "image");
  CHECK(info["total_videos"] == 0);
  CHECK(info["video_path"].is_null());
  CHECK_FALSE(std::filesystem::exists(root / "videos"));
}

TEST_CASE("LeRobot writer: a recording of another form is a mistake of ours") {
  const test::TempFolder folder;
  Writer writer(folder.path(), format_with(PictureLayout::kImages));
  Recording recording = recording_of("first", 3);
  recording.vectors[1].pop_back();

  CHECK_THROWS_WITH(writer.add(recording), Catch::Contains("a row of values a frame"));
}

TEST_CASE("LeRobot writer: an unknown video encoder is refused with the known ones") {
  CHECK_THROWS_AS(choose_video_encoder("h265"), ConfigError);
  CHECK_THROWS_WITH(choose_video_encoder("h265"),
                    Catch::Contains("'h265'") && Catch::Contains("libx264, libaom-av1, mpeg4"));
}

TEST_CASE("LeRobot writer: a file that cannot be created is named") {
  const path file = "/nowhere/video.mp4";

  CHECK_THROWS_AS(VideoFile(file, choose_video_encoder("auto"), kSize, 5), DeviceError);
  CHECK_THROWS_WITH(VideoFile(file, choose_video_encoder("auto"), kSize, 5),
                    Catch::Contains("/nowhere/video.mp4") && Catch::Contains("No such file"));
}

}  // namespace wam::lerobot_writer
