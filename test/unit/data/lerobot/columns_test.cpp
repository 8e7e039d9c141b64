#include "data/lerobot/columns.h"

#include "test/support/catch.h"
#include "test/unit/data/lerobot/small_set.h"

namespace wam::test {
namespace {

LeRobotFeature vector_of(const std::string& name,
                         std::int64_t width,
                         std::vector<LeRobotVectorPart> parts = {}) {
  LeRobotFeature f;
  f.name = name;
  f.dtype = "float32";
  f.shape = {width};
  f.parts = std::move(parts);
  return f;
}

LeRobotFeature camera(const std::string& name, const std::string& dtype = "video") {
  LeRobotFeature f;
  f.name = name;
  f.dtype = dtype;
  f.shape = {48, 64, 3};
  return f;
}

LeRobotMeta meta_of(std::vector<LeRobotFeature> features) {
  LeRobotMeta meta;
  meta.root = "set";
  meta.info.features = std::move(features);
  return meta;
}

LeRobotModalityEntry entry(const std::string& name,
                           std::optional<std::string> key = {},
                           std::optional<std::int64_t> start = {},
                           std::optional<std::int64_t> end = {}) {
  LeRobotModalityEntry e;
  e.name = name;
  e.original_key = std::move(key);
  e.start = start;
  e.end = end;
  return e;
}

bool is(const ColumnSlice& slice, const std::string& column, std::int64_t start, std::int64_t end) {
  return slice == ColumnSlice{column, start, end};
}

}  // namespace

TEST_CASE("Vector columns: modality.json first, its gaps filled with the defaults") {
  LeRobotMeta meta = meta_of({vector_of("observation.state", 8), vector_of("pose", 6)});
  meta.modality.emplace();
  meta.modality->state = {entry("joint_position", {}, 0, 7), entry("gripper_position", {}, 7),
                          entry("eef", "pose")};
  const auto found = find_vector_columns(meta, VectorKind::kState,
                                         {"state.gripper_position", "joint_position", "state.eef"});
  CHECK(is(found[0], "observation.state", 7, 8));
  CHECK(is(found[1], "observation.state", 0, 7));
  CHECK(is(found[2], "pose", 0, 6));
}

TEST_CASE("Vector columns: without modality.json the names in info.json cut the vector") {
  const LeRobotMeta meta =
      meta_of({vector_of("state", 9), vector_of("actions", 3, {{"arm", 2}, {"grip", 1}})});
  const auto action = find_vector_columns(meta, VectorKind::kAction, {"action.grip", "action.arm"});
  CHECK(is(action[0], "actions", 2, 3));
  CHECK(is(action[1], "actions", 0, 2));
  // Nothing names the only key: it is the whole vector.
  CHECK(is(find_vector_columns(meta, VectorKind::kState, {"state.state"})[0], "state", 0, 9));
}

TEST_CASE("Vector columns: keys in several columns, one of them the whole of its column") {
  LeRobotMeta meta = meta_of({vector_of("observation.state", 8), vector_of("hand", 2)});
  meta.modality.emplace();
  meta.modality->state = {entry("gripper_position", "hand", 0, 1)};
  const auto found =
      find_vector_columns(meta, VectorKind::kState, {"joint_position", "gripper_position"});
  CHECK(is(found[0], "observation.state", 0, 8));
  CHECK(is(found[1], "hand", 0, 1));
  // Another key is a part of that column, so it cannot be meant as a whole.
  meta.modality->state = {entry("gripper_position", {}, 7, 8)};
  CHECK_THAT(
      data_error_of([&] {
        find_vector_columns(meta, VectorKind::kState, {"joint_position", "gripper_position"});
      }),
      Catch::Contains("nothing says where state.joint_position is"));
  CHECK_THAT(data_error_of([&] {
               find_vector_columns(meta, VectorKind::kState, {"joint_position"},
                                   {{"observation.state", 7, 8}});
             }),
             Catch::Contains("nothing says where state.joint_position is"));
}

TEST_CASE("Vector columns: DROID's places in vectors of DROID's width, an error in others") {
  const std::vector<std::string> keys = {"joint_position", "gripper_position"};
  const LeRobotMeta droid = meta_of({vector_of("observation.state", 14), vector_of("action", 28)});
  const auto state = find_vector_columns(droid, VectorKind::kState, keys);
  const auto action = find_vector_columns(droid, VectorKind::kAction, keys);
  CHECK(is(state[0], "observation.state", 7, 14));
  CHECK(is(state[1], "observation.state", 6, 7));
  CHECK(is(action[0], "action", 14, 21));
  CHECK(is(action[1], "action", 12, 13));

  const LeRobotMeta other = meta_of({vector_of("observation.state", 8)});
  const std::string text = data_error_of(
      [&] { static_cast<void>(find_vector_columns(other, VectorKind::kState, keys)); });
  CHECK_THAT(text, Catch::Contains("nothing says where state.joint_position is in column "
                                   "'observation.state' (8 values). Fix: "));
}

TEST_CASE("Vector columns: slices outside the vector and unknown columns are refused") {
  LeRobotMeta meta = meta_of({vector_of("observation.state", 8)});
  meta.modality.emplace();
  meta.modality->state = {entry("a", {}, 4, 9), entry("b", "gone")};
  const auto error = [&](const std::string& key) {
    return data_error_of(
        [&] { static_cast<void>(find_vector_columns(meta, VectorKind::kState, {key})); });
  };
  CHECK_THAT(
      error("a"),
      Catch::Contains("state.a is values 4 to 9 of column 'observation.state', which has 8"));
  CHECK_THAT(error("b"),
             Catch::Contains("state.b should be in column 'gone', which info.json does not list"));
}

TEST_CASE(
    "Cameras: modality.json, then observation.images.X, then X, then a longer name ending in X") {
  LeRobotMeta meta = meta_of({camera("observation.images.front"), camera("wrist", "image"),
                              camera("observation.images.arm.side")});
  CHECK(find_camera(meta, "video.front") == "observation.images.front");
  CHECK(find_camera(meta, "wrist") == "wrist");
  CHECK(find_camera(meta, "video.side") == "observation.images.arm.side");
  CHECK_THAT(data_error_of([&] { find_camera(meta, "video.top"); }),
             Catch::Contains("no camera for video.top. Found: observation.images.front, wrist"));
  meta.modality.emplace();
  meta.modality->video = {entry("top", "wrist"), entry("front"), entry("lost", "nowhere")};
  CHECK(find_camera(meta, "video.top") == "wrist");
  CHECK(find_camera(meta, "video.front") == "observation.images.front");
  CHECK_THAT(data_error_of([&] { find_camera(meta, "video.lost"); }),
             Catch::Contains("says that video.lost is 'nowhere'"));
}

TEST_CASE("Language and span columns: mapped, by name, then the task") {
  LeRobotMeta meta = meta_of({vector_of("annotation.task", 1), vector_of("task_index", 1)});
  CHECK(find_language_column(meta, "annotation.task") == "annotation.task");
  CHECK(find_language_column(meta, "annotation.other") == "task_index");
  CHECK(find_span_column(meta, {"annotation.other"}) == "task_index");
  CHECK(find_span_column(meta, {"annotation.other", "annotation.task"}) == "annotation.task");
  meta.modality.emplace();
  meta.modality->annotation = {entry("other", "task_index")};
  CHECK(find_language_column(meta, "annotation.other") == "task_index");
  const LeRobotMeta none = meta_of({vector_of("action", 3)});
  CHECK_FALSE(find_span_column(none, {"annotation.task"}).has_value());
  CHECK_THAT(data_error_of([&] { find_language_column(none, "annotation.task"); }),
             Catch::Contains("no column for annotation.task"));
}

}  // namespace wam::test
