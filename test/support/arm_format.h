#pragma once

#include <string>

#include "data/lerobot_writer/writer.h"

namespace wam::test {

// The dataset of an arm for the embodiment `tiny`: three cameras, a state and an action of three
// values, pictures inside the tables. What a test needs otherwise it changes.
inline lerobot_writer::Format arm_format(lerobot_writer::PictureSize size = {32, 64}) {
  lerobot_writer::Format format;
  format.robot_type = "arm";
  format.pictures = lerobot_writer::PictureLayout::kImages;
  for (const char* view : {"left", "right", "wrist"}) {
    format.cameras.push_back({std::string("observation.images.") + view, size});
  }
  format.vectors = {{"observation.state", {"a", "b", "c"}}, {"action", {"a", "b", "c"}}};
  return format;
}

}  // namespace wam::test
