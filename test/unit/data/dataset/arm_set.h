#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset/window_dataset.h"
#include "data/lerobot_writer/writer.h"
#include "test/support/temp_folder.h"

namespace wam::test {

// What to write: an episode is its length and its task.
struct ArmSet {
  std::vector<std::pair<std::int64_t, std::string>> episodes = {{40, "Reach the red block"},
                                                                {50, "Reach the blue block"},
                                                                {20, "Too short"},
                                                                {45, "['Reach the green block']"}};
  lerobot_writer::PictureLayout layout = lerobot_writer::PictureLayout::kImages;
  std::string action_key = "action";
  lerobot_writer::Version version = lerobot_writer::Version::k21;
  std::optional<std::pair<std::int64_t, std::int64_t>> bad_state = {};  // NaN in episode, row
  int height = 32;
};

// A small dataset for the shipped record "tiny": picture of episode e, camera c, frame i is flat
// with levels (10 e + c, i, 100 c); state row i is (1000 e + i) / 8 plus a third of the joint, the
// action half a unit more.
void write_arm_set(const std::filesystem::path& root, const ArmSet& set = {});

// That dataset as a member, with statistics computed over it.
DatasetMember arm_member(const std::filesystem::path& root);
// View 32x64, four blocks, one member.
WindowDatasetOptions arm_options(const DatasetMember& member);

}  // namespace wam::test
