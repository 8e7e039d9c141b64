#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/log.h"
#include "data/lerobot_writer/writer.h"

namespace wam {

// A small robot dataset that needs no download: a planar arm of three joints reaches for the block
// that the prompt names. What it does next follows from picture, joint angles and prompt together,
// and from none of them alone.
struct SampleWorldOptions {
  std::filesystem::path path;
  lerobot_writer::Version version = lerobot_writer::Version::k21;
  lerobot_writer::PictureLayout layout = lerobot_writer::PictureLayout::kMp4;
  std::int64_t episodes = 128;  // of 45 to 80 frames at 10 fps
  std::uint64_t seed = 0;
  // Share of the episodes in which every colour lies in its home place (red left, green in the
  // middle, blue right), so that the prompt alone tells where to go; in the others the colours are
  // dealt at random. A model learns faster with more, and looks at the pictures more with less.
  double home_share = 0.7;
  std::string video_encoder = "auto";  // an encoder of FFmpeg; mp4 only
};

// Writes a LeRobot dataset: views left, right and wrist of 32x64 pixels; observation.state
// and action: three joint angles in radians, the action being the angles one frame later;
// meta/modality.json names them joint_position, and the task text annotation.task.
// The same options, FFmpeg and Arrow give the same bytes.
//
// A folder that holds a finished sample world of the same options is left as it is, which is
// logged; one whose writing was interrupted is written again.
// Errors: ConfigError (all bad options at once; a folder with anything else in it; no encoder);
// DeviceError (disk).
void write_sample_world(const SampleWorldOptions& options, Log& log);

}  // namespace wam
