#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/names.h"
#include "data/lerobot_writer/picture_encoder.h"

namespace wam::lerobot_writer {

// Where the pictures go: mp4 files of each camera, or PNG files inside the parquet tables.
enum class PictureLayout { kMp4, kImages };

// v2.1: files of their own for every episode; v3.0: many episodes a file.
enum class Version { k21, k30 };

// What every episode holds.
struct Camera {
  std::string key;  // "observation.images.left"
  PictureSize size;
};
struct Vector {
  std::string key;                 // "observation.state"
  std::vector<std::string> names;  // one per value
};
struct Format {
  std::string robot_type;
  int fps = 10;
  Version version = Version::k21;
  PictureLayout pictures = PictureLayout::kMp4;
  std::string video_encoder = "auto";  // as in choose_video_encoder; mp4 only
  std::vector<Camera> cameras;
  std::vector<Vector> vectors;
  // v3.0: a file that has grown to this takes no further episode; files of a chunk.
  std::int64_t data_file_bytes = 100'000'000;
  std::int64_t video_file_bytes = 200'000'000;
  std::int64_t files_in_chunk = 1000;
};

struct Recording {
  std::string task;
  std::int64_t frames = 0;
  std::vector<std::vector<std::uint8_t>> pictures_THWC;  // one per camera, RGB
  std::vector<std::vector<float>> vectors;               // one per vector, frames x width
};

// Writes a LeRobot dataset, as LeRobot itself would: v2.1 (lerobot @ v0.3.3) or v3.0 (@ v0.6.1;
// without the statistics of each episode, which its reader skips, and without quantiles).
// Errors: DeviceError when a file cannot be written; ConfigError when there is no video encoder;
// InvariantError when a recording does not have the announced form.
class Writer {
 public:
  Writer(std::filesystem::path root, Format format);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;

  // The next episode: its table and videos are on disk on return.
  void add(const Recording& recording);
  // The files under meta/. Without it the folder is no dataset.
  void finish();

  [[nodiscard]] std::int64_t frames() const noexcept;
  // The encoder in use; empty names for pictures in parquet.
  [[nodiscard]] const VideoEncoder& video_encoder() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam::lerobot_writer

template <>
struct wam::EnumNames<wam::lerobot_writer::Version> {
  static constexpr std::array table{std::pair{lerobot_writer::Version::k21, "v2.1"},
                                    std::pair{lerobot_writer::Version::k30, "v3.0"}};
};
template <>
struct wam::EnumNames<wam::lerobot_writer::PictureLayout> {
  static constexpr std::array table{std::pair{lerobot_writer::PictureLayout::kMp4, "mp4"},
                                    std::pair{lerobot_writer::PictureLayout::kImages, "images"}};
};
