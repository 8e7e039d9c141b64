#include "data/embodiment/embodiment.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/errors.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

using wam::ConfigError;
using wam::Embodiment;

namespace {

const std::filesystem::path kShipped = std::filesystem::path(WAM_SOURCE_DIR) / "configs/embodiment";

// The DROID record with one text replaced by another.
std::filesystem::path altered(const wam::test::TempFolder& folder,
                              const std::string& from,
                              const std::string& to) {
  std::ifstream in(kShipped / "oxe_droid.yaml");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const auto path = folder.path() / "record.yaml";
  std::ofstream(path) << text;
  return path;
}

std::string message_of(const std::filesystem::path& record) {
  try {
    wam::read_embodiment(record);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every shipped embodiment loads and is named after its tag") {
  const auto names = wam::embodiment_names(kShipped);

  REQUIRE(names.size() >= 3);
  for (const auto& name : names) {
    INFO(name);
    CHECK(wam::find_embodiment(name, kShipped).tag == name);
  }
}

TEST_CASE("the DROID record holds the reference's numbers") {
  const Embodiment droid = wam::find_embodiment("oxe_droid", kShipped);

  CHECK(droid.id == 17);
  CHECK(droid.action_horizon == 24);
  CHECK(droid.macro_stride == 24);
  CHECK(droid.video_offsets == std::vector<std::int64_t>{0, 3, 6, 9, 12, 15, 18, 21});
  CHECK(droid.is_relative("joint_position"));
  CHECK_FALSE(droid.is_relative("gripper_position"));
  CHECK(droid.placements.at(0).view == 2);
  CHECK(droid.placements.at(0).col_span == 2);
  CHECK(droid.jitter.hue == Approx(0.08));
}

TEST_CASE("an unknown embodiment is refused with the nearest name") {
  CHECK_THROWS_WITH(wam::find_embodiment("oxe_doird", kShipped),
                    Catch::Contains("did you mean 'oxe_droid'?"));
  CHECK_THROWS_WITH(wam::find_embodiment("oxe_droid", "/nonexistent"),
                    Catch::Contains("WAM_CONFIG_DIR"));
}

TEST_CASE("a record may be given by its path") {
  const wam::test::TempFolder folder;
  const auto path = altered(folder, "tag: oxe_droid", "tag: my_arm");

  CHECK(wam::find_embodiment(path.string(), kShipped).tag == "my_arm");
}

TEST_CASE("every problem of a record is reported at once, with line and nearest key") {
  const wam::test::TempFolder folder;
  const auto path = altered(folder, "language_choice: uniform\ncrop_scale: 0.95",
                            "langage_choice: uniform\ncrop_scale: wide\ncanvsa: [1, 1]");

  const auto text = message_of(path);

  CHECK_THAT(text, Catch::Contains("record.yaml:11: langage_choice: unknown key") &&
                       Catch::Contains("did you mean 'language_choice'?"));
  CHECK_THAT(text, Catch::Contains("language_choice: missing"));
  CHECK_THAT(text, Catch::Contains("record.yaml:12: crop_scale: 'wide' is not a number"));
  CHECK_THAT(text,
             Catch::Contains("record.yaml:13: canvsa: unknown key. Fix: did you mean 'canvas'?"));
}

TEST_CASE("values that contradict each other are refused") {
  const wam::test::TempFolder folder;

  CHECK_THAT(message_of(altered(folder, "relative_action_keys: [joint_position]",
                                "relative_action_keys: [elbow]")),
             Catch::Contains("'elbow' is not both a state and an action key"));
  CHECK_THAT(message_of(altered(folder, "view: 1, at: [1, 1]", "view: 1, at: [1, 0]")),
             Catch::Contains("place[2].at: covers a part of the canvas"));
  CHECK_THAT(
      message_of(altered(folder, "view: 1, at: [1, 1]", "view: 3, at: [1, 2]")),
      Catch::Contains("3 is not one of the 3 views") && Catch::Contains("outside the canvas"));
  CHECK_THAT(message_of(altered(folder, "macro_stride: 24", "macro_stride: 20")),
             Catch::Contains("20 is below action_horizon 24"));
  CHECK_THAT(
      message_of(altered(folder, "action.joint_position: q99", "action.joint_position: q98")),
      Catch::Contains("'q98' is none of q99, min_max, mean_std"));
  CHECK_THAT(message_of(altered(folder, "video_offsets: [0, 3, 6", "video_offsets: [0, 3, 3")),
             Catch::Contains("ascending offsets from 0"));
}

TEST_CASE(
    "a column or mode for a name that the record does not use says where the name should be") {
  const wam::test::TempFolder folder;
  const auto text = message_of(altered(
      folder, "macro_stride: 24", "macro_stride: 24\ncolumn_map:\n  video.belly: {column: belly}"));
  INFO(text);
  CHECK_THAT(text, Catch::Contains("column_map.video.belly: not in views, state_keys, action_keys "
                                   "or language_keys. Fix: one of"));
  CHECK_THAT(message_of(altered(folder, "action.joint_position: q99",
                                "action.joint_position: q99\n  action.elbow: q99")),
             Catch::Contains("normalisation.action.elbow: not in state_keys or action_keys"));
}

TEST_CASE("a record whose clips would be unevenly spaced is refused, unless it says so") {
  const wam::test::TempFolder folder;
  for (const auto& [from, to] : {std::pair{"macro_stride: 24", "macro_stride: 27"},
                                 {"video_offsets: [0, 3, 6, 9, 12, 15, 18, 21]",
                                  "video_offsets: [0, 3, 6, 9, 12, 15, 18, 20]"},
                                 {"video_offsets: [0, 3, 6, 9, 12, 15, 18, 21]",
                                  "video_offsets: [0, 1, 2, 3, 4, 5, 6, 7]"}}) {
    CHECK_THAT(message_of(altered(folder, from, to)), Catch::Contains("video_offsets: [0, ") &&
                                                          Catch::Contains("do not lie evenly") &&
                                                          Catch::Contains("uneven_frames: true"));
    const auto meant =
        wam::read_embodiment(altered(folder, from, std::string(to) + "\nuneven_frames: true"));
    CHECK(meant.uneven_frames);
  }
  CHECK_THAT(message_of(altered(folder, "macro_stride: 24", "macro_stride: 24\nuneven_frames: 3")),
             Catch::Contains("'3' is not true or false"));
  CHECK(wam::find_embodiment("libero_sim", kShipped).uneven_frames);
  CHECK(wam::find_embodiment("franka_pnp", kShipped).uneven_frames);
  CHECK_FALSE(wam::find_embodiment("oxe_droid", kShipped).uneven_frames);
}

TEST_CASE("a file that is no YAML is refused with its line") {
  const wam::test::TempFolder folder;
  const auto path = folder.path() / "broken.yaml";
  std::ofstream(path) << "tag: [a\nviews: b]: {\n";

  CHECK_THROWS_WITH(wam::read_embodiment(path), Catch::Contains("not YAML"));
}
