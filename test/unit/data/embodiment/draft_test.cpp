#include "data/embodiment/draft.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "data/embodiment/known_robots.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using Catch::Contains;
using wam::draft_embodiment;
using wam::Embodiment;
using wam::EmbodimentDraft;
using wam::LeRobotMeta;
using Texts = std::vector<std::string>;
using Offsets = std::vector<std::int64_t>;

namespace {

wam::LeRobotFeature vector(const std::string& name, const Texts& names) {
  wam::LeRobotFeature out;
  out.name = name;
  out.dtype = "float32";
  out.shape = {static_cast<std::int64_t>(names.size())};
  for (const auto& part : names) out.parts.push_back({part, 1});
  return out;
}

wam::LeRobotFeature camera(const std::string& name) {
  wam::LeRobotFeature out;
  out.name = name;
  out.dtype = "video";
  return out;
}

wam::LeRobotModalityEntry entry(const std::string& name,
                                std::optional<std::string> column,
                                std::optional<std::int64_t> start = std::nullopt,
                                std::optional<std::int64_t> end = std::nullopt) {
  wam::LeRobotModalityEntry out;
  out.name = name;
  out.original_key = std::move(column);
  out.start = start;
  out.end = end;
  return out;
}

LeRobotMeta meta(const Texts& cameras, double fps) {
  LeRobotMeta out;
  out.root = "/data/my_robot";
  out.info.fps = fps;
  for (const auto& name : cameras)
    out.info.features.push_back(camera("observation.images." + name));
  out.info.features.push_back(vector("observation.state", {"q0", "q1", "gripper"}));
  out.info.features.push_back(vector("action", {"q0", "q1", "gripper"}));
  out.info.features.push_back(vector("task_index", {"t"}));
  return out;
}

Embodiment read_back(const EmbodimentDraft& draft) {
  const wam::test::TempFolder folder;
  wam::write_file_atomically(folder.path() / "r.yaml", wam::record_text(draft));
  return wam::read_embodiment(folder.path() / "r.yaml");
}

}  // namespace

TEST_CASE("a drafted record reads back as it was drafted, whatever the names") {
  auto odd = meta({"front: \"left\"", "wríst #2", "true"}, 30);
  odd.root = "/data/007";
  for (const auto& drafted : {draft_embodiment(odd, nullptr),
                              draft_embodiment(meta({"a", "b", "c", "d", "e"}, 12.5), nullptr)}) {
    CHECK(wam::describe(read_back(drafted)) == wam::describe(drafted.record));
  }
}

TEST_CASE("a draft has the dataset's cameras, its columns, and the gripper as a key of its own") {
  const Embodiment e = draft_embodiment(meta({"front", "wrist"}, 15), nullptr).record;
  CHECK(e.tag == "my_robot");
  CHECK(e.views == Texts{"front", "wrist"});
  CHECK(e.canvas_rows == 1);
  CHECK(e.canvas_cols == 2);
  CHECK_THAT(e.prompt, Contains("the left view shows the camera front, the right view shows the "
                                "camera wrist") &&
                           Contains("{instruction}"));
  CHECK(e.state_keys == Texts{"joint_position", "gripper_position"});
  CHECK(e.action_keys == e.state_keys);
  const auto& gripper = e.column_map.at("action.gripper_position");
  CHECK(gripper.column == "action");
  CHECK((*gripper.start == 2 && *gripper.end == 3));
  CHECK(e.column_map.at("video.wrist").column == "observation.images.wrist");
  CHECK(e.column_map.at("annotation.task").column == "task_index");
}

TEST_CASE("several columns of state are a key each, depth maps and other vectors are none") {
  LeRobotMeta several = meta({"front"}, 15);
  auto& features = several.info.features;
  features.erase(std::find_if(features.begin(), features.end(),
                              [](const auto& f) { return f.name == "observation.state"; }));
  features.push_back(vector("observation.state.arm", {"x", "y"}));
  features.push_back(vector("observation.state.gripper", {"g"}));
  features.push_back(vector("observation.force", {"f"}));
  features.push_back(camera("observation.images.depth"));
  features.back().is_depth = true;
  const Embodiment e = draft_embodiment(several, nullptr).record;
  CHECK(e.state_keys == Texts{"observation_state_arm", "observation_state_gripper"});
  CHECK(e.views == Texts{"front"});
  CHECK((e.canvas_rows == 1 && e.canvas_cols == 1));
}

TEST_CASE("modality.json names the keys where it is there") {
  LeRobotMeta described = meta({"front", "wrist"}, 15);
  wam::LeRobotModality modality;
  modality.state = {entry("arm", std::nullopt, 0, 2), entry("hand", std::nullopt, 2, 3)};
  modality.action = {entry("arm", std::nullopt, 0, 2)};
  modality.video = {entry("eye", "observation.images.wrist")};
  modality.annotation = {entry("human.text", "task_index")};
  described.modality = modality;
  const Embodiment e = draft_embodiment(described, nullptr).record;
  CHECK(e.state_keys == Texts{"arm", "hand"});
  CHECK(e.action_keys == Texts{"arm"});
  CHECK(e.views == Texts{"eye"});
  CHECK(e.column_map.at("video.eye").column == "observation.images.wrist");
  CHECK(e.language_keys == Texts{"annotation.human.text"});
  CHECK(*e.column_map.at("state.hand").start == 2);
}

TEST_CASE("the spacing fits the rate: pictures about 0.2 s apart, blocks without a gap") {
  const auto at = [](double fps) { return draft_embodiment(meta({"front"}, fps), nullptr).record; };
  CHECK(at(15).video_offsets == Offsets{0, 3, 6, 9, 12, 15, 18, 21});  // DROID's
  CHECK(at(10).action_horizon == 16);                                  // LIBERO's
  CHECK(at(3).video_offsets == Offsets{0, 1, 2, 3, 4, 5, 6, 7});
  for (const double fps : {3.0, 10.0, 15.0, 29.97, 50.0}) {
    const Embodiment e = at(fps);
    CHECK(e.macro_stride == 8 * e.video_offsets[1]);
    CHECK(e.action_horizon == e.macro_stride);
  }
}

TEST_CASE("like a known robot: its prompt, id and layout, cameras matched by name") {
  const auto robot = wam::known_robot("yam");
  REQUIRE(robot);
  const Embodiment e =
      draft_embodiment(meta({"right_cam", "top_cam", "left_cam"}, 30), &*robot).record;
  CHECK(e.tag == "yam");
  CHECK(e.id == 32);
  CHECK(e.prompt == robot->prompt);
  CHECK(e.views == Texts{"top_cam", "left_cam", "right_cam"});
  REQUIRE(e.placements.size() == 3);  // left below, right beside the first
  CHECK((e.placements[1].row == 1 && e.placements[1].col == 0));
  CHECK((e.placements[2].row == 0 && e.placements[2].col == 1));
  CHECK_FALSE(wam::known_robot("yum"));
  for (const auto& name : wam::known_robot_names()) {
    const auto known = wam::known_robot(name);
    const auto draft = draft_embodiment(meta({"a", "b", "c"}, 15), &*known);
    CHECK(read_back(draft).prompt == known->prompt);
  }
}

TEST_CASE("like another robot: relative actions and normalisation of the keys that both have") {
  const auto info = meta({"a"}, 30);
  const Embodiment plain = draft_embodiment(info, nullptr).record;
  CHECK(plain.relative_action_keys.empty());
  const auto both = std::find_first_of(plain.action_keys.begin(), plain.action_keys.end(),
                                       plain.state_keys.begin(), plain.state_keys.end());
  REQUIRE(both != plain.action_keys.end());
  Embodiment other = plain;
  other.relative_action_keys = {"elsewhere", *both};
  other.normalisation["state." + *both] = wam::Normalisation::kMinMax;

  const Embodiment e = draft_embodiment(info, &other).record;

  CHECK(e.relative_action_keys == Texts{*both});
  CHECK(e.normalisation.at("state." + *both) == wam::Normalisation::kMinMax);
  CHECK(e.normalisation.at("action." + *both) == wam::Normalisation::kQ99);
}

TEST_CASE("a draft is refused where the dataset has not what it needs") {
  const auto robot = wam::known_robot("agibot");
  CHECK_THROWS_WITH(draft_embodiment(meta({"a", "b"}, 15), &*robot),
                    Contains("has 2 cameras, and agibot shows 3") && Contains("Fix:"));
  CHECK_THROWS_WITH(draft_embodiment(meta({}, 15), nullptr), Contains("no camera"));
  LeRobotMeta still = meta({"a"}, 15);
  std::erase_if(still.info.features, [](const auto& f) { return f.name == "action"; });
  CHECK_THROWS_WITH(draft_embodiment(still, nullptr),
                    Contains("looks like an action") && Contains("observation.state"));
}
