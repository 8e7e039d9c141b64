#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace wam::lerobot_writer {

struct PictureSize {
  int height = 0;
  int width = 0;
};

// One complete PNG file, 8-bit RGB, lossless. rgb_HWC: (height, width, 3), rows without padding.
// Threads: any. Errors: DeviceError when this FFmpeg has no PNG encoder.
std::vector<std::uint8_t> encode_png(const std::uint8_t* rgb_HWC, PictureSize size);

// An encoder of FFmpeg and the codec name that LeRobot writes into info.json for its files.
struct VideoEncoder {
  std::string name;
  std::string codec;
};

// `wanted` is an encoder's name, or "auto": the first that this FFmpeg has of libx264, libaom-av1
// and mpeg4 (FFmpeg's own). Errors: ConfigError naming the known and the available ones.
VideoEncoder choose_video_encoder(const std::string& wanted);

// An mp4 file without audio: yuv420p, constant frame rate, no B-frames, a key frame every 8th
// frame, quality near transparent. One thread and bit-exact flags: the same pictures and the same
// FFmpeg give the same bytes.
// Errors: DeviceError naming the file.
class VideoFile {
 public:
  VideoFile(const std::filesystem::path& path, VideoEncoder encoder, PictureSize size, int fps);
  ~VideoFile();
  VideoFile(const VideoFile&) = delete;
  VideoFile& operator=(const VideoFile&) = delete;
  VideoFile(VideoFile&&) = delete;
  VideoFile& operator=(VideoFile&&) = delete;

  // What follows can be decoded without what came before.
  void begin_episode();
  // The next frame: (height, width, 3), rows without padding.
  void add(const std::uint8_t* rgb_HWC);
  // Flushes the encoder and writes the index; without it the file is not readable.
  void finish();
  // Written so far.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wam::lerobot_writer
