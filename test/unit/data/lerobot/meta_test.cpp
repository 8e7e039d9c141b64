#include "data/lerobot/meta.h"

#include <filesystem>

#include "test/support/catch.h"
#include "test/unit/data/lerobot/small_set.h"

namespace wam::test {
namespace {

std::string meta_error(const std::filesystem::path& root) {
  return data_error_of([&] { static_cast<void>(read_lerobot_meta(root)); });
}

}  // namespace

TEST_CASE("LeRobot meta: episodes come sorted by number, tasks by index, features in file order") {
  const SmallSet set;
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  REQUIRE(meta.episodes.size() == 2);
  CHECK(meta.episodes[0].number == 0);
  CHECK(meta.episodes[0].length == 5);
  CHECK(meta.episodes[1].number == 3);
  CHECK(meta.tasks.at(1) == " stack the cups ");
  CHECK(meta.info.fps == 10);
  REQUIRE(meta.info.features.size() == 3);
  CHECK(meta.info.features[0].name == "observation.state");
  CHECK(meta.info.feature("action")->num_values() == 3);
  REQUIRE(meta.info.feature("action")->parts.size() == 2);
  CHECK(meta.info.feature("action")->parts[0].name == "arm");
  CHECK(meta.info.feature("action")->parts[0].width == 2);
  CHECK(meta.info.feature("nothing") == nullptr);
  CHECK_FALSE(meta.modality.has_value());
  CHECK(meta.embodiment_tag.empty());
  CHECK(meta.name() == set.root().filename().string());
}

TEST_CASE("LeRobot meta: lengths under any of their names, or none") {
  const SmallSet set;
  set.write("episodes.jsonl",
            "{\"episode_index\": 0, \"episode_length\": null, \"num_frames\": 5}\n"
            "{\"episode_index\": 3}\n");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  CHECK(meta.episodes[0].length == 5);
  CHECK_FALSE(meta.episodes[1].length.has_value());
}

TEST_CASE("LeRobot meta: discarded episodes are left out") {
  const SmallSet set;
  set.edit("info.json", "\"fps\": 10,", "\"fps\": 10.0, \"discarded_episode_indices\": [0],");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  REQUIRE(meta.episodes.size() == 1);
  CHECK(meta.episodes[0].number == 3);
  CHECK_THAT(meta.notes.at(0), Catch::Contains("1 of 2 episodes are discarded"));
}

TEST_CASE("LeRobot meta: episodes outside of splits.train are left out, and said so") {
  const SmallSet set;
  set.edit("info.json", "\"0:2\"", "\"0:1\"");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  REQUIRE(meta.episodes.size() == 1);
  CHECK(meta.episodes[0].number == 0);
  REQUIRE(meta.notes.size() == 1);
  CHECK_THAT(meta.notes[0], Catch::Contains("1 of 2 episodes lie outside of splits.train (0:1)"));

  set.edit("info.json", "{\"train\": \"0:1\"}", "{\"train\": \"0:100\"}");  // percent: all
  CHECK(read_lerobot_meta(set.root()).episodes.size() == 2);
  set.edit("info.json", "\"0:100\"", "\"1:100\", \"test\": \"0:1\"");
  CHECK(read_lerobot_meta(set.root()).episodes.size() == 1);
  set.edit("info.json", "\"1:100\"", "\"all\"");
  CHECK_THAT(meta_error(set.root()), Catch::Contains("splits.train is 'all', expected a range"));
}

TEST_CASE("LeRobot meta: depth maps and unknown features are ignored, and said so") {
  const SmallSet set;
  set.edit(
      "info.json", "\"task_index\":",
      R"("depth": {"dtype": "video", "shape": [4, 4, 1], "names": ["height", "width", "channel"],
              "info": {"video.is_depth_map": true}},
              "sound": {"dtype": "audio", "shape": [1], "names": null}, "task_index":)");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  CHECK_FALSE(meta.info.feature("depth")->is_camera());
  REQUIRE(meta.notes.size() == 2);
  CHECK(meta.notes[0] == "depth maps are not read: depth");
  CHECK(meta.notes[1] == "features of unknown types are not read: sound (audio)");
}

TEST_CASE("LeRobot meta: frames of meta/step_filter.jsonl, sorted by episode") {
  const SmallSet set;
  CHECK(read_lerobot_meta(set.root()).excluded_starts.empty());
  set.write("step_filter.jsonl", "{\"episode_index\": 3, \"step_indices\": [2, 0]}\n");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  REQUIRE(meta.excluded_starts.size() == 1);
  CHECK(meta.excluded_starts.at(3) == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("LeRobot meta: cameras know their height and width by name, in either order") {
  const SmallSet set;
  set.edit(
      "info.json", "\"task_index\":",
      R"("cam": {"dtype": "video", "shape": [3, 48, 64], "names": ["channel", "height", "width"]},
              "pic": {"dtype": "image", "shape": [24, 32, 3], "names": ["height", "width", "rgb"]},
              "task_index":)");
  const LeRobotInfo info = read_lerobot_meta(set.root()).info;
  CHECK(info.feature("cam")->is_camera());
  CHECK(info.feature("cam")->height == 48);
  CHECK(info.feature("cam")->width == 64);
  CHECK(info.feature("pic")->height == 24);
  CHECK(info.feature("pic")->width == 32);
}

TEST_CASE("LeRobot meta: modality.json and embodiment.json") {
  const SmallSet set;
  set.write("modality.json", R"({"state": {"b": {"original_key": "s", "start": 1, "end": 3,
    "rotation_type": "quaternion", "absolute": false, "dtype": "float32", "range": null}, "a": {}}})");
  set.write("embodiment.json", R"({"robot_type": "x", "embodiment_tag": "oxe_droid"})");
  const LeRobotMeta meta = read_lerobot_meta(set.root());
  CHECK(meta.embodiment_tag == "oxe_droid");
  REQUIRE(meta.modality.has_value());
  REQUIRE(meta.modality->state.size() == 2);
  const LeRobotModalityEntry& b = meta.modality->state[0];
  CHECK(b.name == "b");
  CHECK(b.original_key == "s");
  CHECK(b.start == 1);
  CHECK(b.end == 3);
  CHECK(b.rotation_type == "quaternion");
  CHECK_FALSE(b.absolute);
  const LeRobotModalityEntry& a = meta.modality->state[1];
  CHECK_FALSE(a.original_key.has_value());
  CHECK(a.absolute);
  CHECK(a.dtype == "float64");
  CHECK(meta.modality->video.empty());
}

TEST_CASE("LeRobot meta: what is wrong is said with file, line and a fix") {
  using Catch::Contains;
  const SmallSet set;
  CHECK_THAT(meta_error(set.root() / "nowhere"), Contains("nowhere: no such folder. Fix: "));
  CHECK_THAT(meta_error(set.root() / "data"), Contains("it has no meta/info.json. Fix: "));

  SECTION("versions") {
    set.edit("info.json", "v2.1", "v1.6");
    CHECK_THAT(meta_error(set.root()),
               Contains("codebase_version 'v1.6', expected v2.0, v2.1 or v3.0. Fix: "));
    CHECK_THAT(meta_error(set.root()), Contains(set.root().string()));
  }
  SECTION("info.json") {
    set.edit("info.json", "\"fps\": 10", "\"fps\": \"ten\"");
    CHECK_THAT(meta_error(set.root()),
               Contains("info.json: the field 'fps' is \"ten\", expected a number"));
    set.edit("info.json", "\"fps\": \"ten\",", "");
    CHECK_THAT(meta_error(set.root()), Contains("no field 'fps'"));
    set.write("info.json", "{\"codebase_version\": ");
    CHECK_THAT(meta_error(set.root()), Contains("info.json: not a JSON object"));
  }
  SECTION("episodes") {
    set.write("episodes.jsonl", "\n");
    CHECK_THAT(meta_error(set.root()), Contains("no episode"));
    set.write("episodes.jsonl", "{\"episode_index\": 0, \"length\": 5}\n{broken\n");
    CHECK_THAT(meta_error(set.root()), Contains("episodes.jsonl line 2: not a JSON object"));
    set.write("episodes.jsonl", "{\"episode_index\": 0}\n{\"episode_index\": 0}\n");
    CHECK_THAT(meta_error(set.root()), Contains("episode 0 is listed twice"));
    std::filesystem::remove(set.root() / "meta" / "episodes.jsonl");
    CHECK_THAT(meta_error(set.root()), Contains("episodes.jsonl"));
  }
}

}  // namespace wam::test
