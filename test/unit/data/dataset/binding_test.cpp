#include "data/embodiment/binding.h"

#include <string>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/unit/data/lerobot/small_set.h"
#include "test/unit/data/video/test_video.h"

namespace wam::test {
namespace {

Embodiment two_part_arm() {
  Embodiment e;
  e.tag = "arm";
  e.views = {"front"};
  e.state_keys = {"joint_position"};
  e.action_keys = {"joint_position", "gripper_position"};
  e.language_keys = {"annotation.task"};
  return e;
}

constexpr const char* kCamera = R"("observation.images.front": {"dtype": "image",
  "shape": [24, 32, 3], "names": ["height", "width", "channel"]}, "task_index":)";

// SmallSet with a camera, whose first table has these columns beside state and task.
void write_columns(const SmallSet& set, std::vector<TestColumn> columns) {
  set.edit("info.json", "\"task_index\":", kCamera);
  const std::string png = encode_test_picture(AV_CODEC_ID_PNG, AV_PIX_FMT_RGB24, 32, 24, 1);
  columns.push_back({"observation.state", float_vectors(5, 4)});
  columns.push_back({"task_index", integers({0, 0, 1, 1, 1})});
  columns.push_back({"observation.images.front", pictures({png, png, png, png, png})});
  write_table(set.table(0), columns);
}

std::string bind_error(const SmallSet& set, const Embodiment& embodiment) {
  return data_error_of([&] { static_cast<void>(bind(LeRobotReader(set.root()), embodiment)); });
}

}  // namespace

TEST_CASE("a missing action column is refused with what there is and the entry to write") {
  const SmallSet set;
  SECTION("none that is like it") {
    write_columns(set, {});
    const std::string text = bind_error(set, two_part_arm());
    INFO(text);
    CHECK_THAT(text, Catch::Contains("observation.state (4 numbers), task_index (1 numbers), "
                                     "observation.images.front (struct<bytes"));
    CHECK_THAT(text, Catch::Contains("action.joint_position: {column: ..., start: ..., end: ...}"));
  }
  SECTION("in columns of other names") {
    write_columns(set, {{"actions.joint.position", double_lists(5, 7)},
                        {"actions.effector.position", double_lists(5, 1)}});
    set.edit("info.json", "\"arm\": [\"x\", \"y\"], \"grip\": [\"g\"]",
             "\"joint_position\": [\"x\", \"y\"], \"gripper_position\": [\"g\"]");
    const std::string text = bind_error(set, two_part_arm());
    INFO(text);
    CHECK_THAT(text, Catch::Contains("has no column 'action'"));
    CHECK_THAT(text, Catch::Contains("actions.joint.position (7 numbers)"));
    CHECK_THAT(text, Catch::Contains("Fix: write into column_map of the embodiment's record"));
    CHECK_THAT(text, Catch::Contains("action.joint_position: {column: actions.joint.position, "
                                     "start: 0, end: 7}"));
    CHECK_THAT(text, Catch::Contains("action.gripper_position: {column: actions."));
    CHECK(text.find("Fix: ") == text.rfind("Fix: "));

    Embodiment mapped = two_part_arm();  // the advice, taken
    mapped.column_map = {{"action.joint_position", {"actions.joint.position", 0, 7}},
                         {"action.gripper_position", {"actions.effector.position", {}, {}}}};
    const Binding binding = bind(LeRobotReader(set.root()), mapped);
    CHECK(binding.action_width() == 8);
    CHECK((binding.action[1] == ColumnSlice{"actions.effector.position", 0, 1}));
  }
  SECTION("as text") {
    write_columns(set, {{"action", strings({"a", "b", "c", "d", "e"})}});
    Embodiment whole = two_part_arm();
    whole.action_keys = {"joint_position"};
    const std::string text = bind_error(set, whole);
    INFO(text);
    CHECK_THAT(text, Catch::Contains("column 'action'") &&
                         Catch::Contains("holds string, expected numbers"));
    CHECK_THAT(text, Catch::Contains("action (string)") &&
                         Catch::Contains("action.joint_position: {column: ..."));
  }
}

TEST_CASE(
    "a view that the record maps to a column which is no camera is refused with the cameras") {
  const SmallSet set;
  write_columns(set, {});
  Embodiment e = two_part_arm();
  e.column_map["state.joint_position"] = {"observation.state", 0, 4};
  e.column_map["action.joint_position"] = {"observation.state", 0, 3};
  e.column_map["action.gripper_position"] = {"observation.state", 3, 4};
  e.column_map["annotation.task"] = {"task_index", {}, {}};
  e.column_map["video.front"] = {"observation.images.front", {}, {}};
  CHECK(bind(LeRobotReader(set.root()), e).cameras ==
        std::vector<std::string>{"observation.images.front"});

  for (const char* column : {"observation.images.wrist", "observation.state"}) {
    e.column_map["video.front"] = {column, {}, {}};
    const std::string text = bind_error(set, e);
    INFO(text);
    CHECK_THAT(text, Catch::Contains(std::string("says that video.front is '") + column + "'") &&
                         Catch::Contains("Found: observation.images.front. Fix: name one"));
  }
}

TEST_CASE("where one key is misplaced, the entry to write is that of this key alone") {
  const SmallSet set;
  write_columns(set, {});
  Embodiment e = two_part_arm();
  e.column_map["state.joint_position"] = {"observation.state", 0, 4};
  e.column_map["action.joint_position"] = {"observation.state", 0, 3};
  for (const auto& wrong :
       {ColumnOverride{"observation.state", 3, 9}, ColumnOverride{"act", 3, 4}}) {
    e.column_map["action.gripper_position"] = wrong;
    const std::string text = bind_error(set, e);
    INFO(text);
    const std::string part = fmt::format(", start: 3, end: {}}}", *wrong.end);
    CHECK_THAT(text, Catch::Contains("action.gripper_position: {column: ") &&
                         Catch::Contains(part) &&
                         !Catch::Contains("action.joint_position: {column"));
  }
}

}  // namespace wam::test
