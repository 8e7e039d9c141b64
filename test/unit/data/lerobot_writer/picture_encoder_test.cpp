#include "data/lerobot_writer/picture_encoder.h"

#include <iostream>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/hash.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

namespace wam::lerobot_writer {
namespace {

constexpr PictureSize kSize{32, 64};
constexpr int kFrames = 60;

// A shaded disc that moves before two plain areas: x264's vector code encodes it otherwise than its
// plain code.
std::vector<std::uint8_t> picture(int frame) {
  std::vector<std::uint8_t> out;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const int dx = x - 20 - frame / 2;
      const int dy = y - 10 - frame / 5;
      const int distance = dx * dx + dy * dy;
      const int ground = y > 20 ? 200 : 90;
      const bool inside = distance < 80;
      out.push_back(static_cast<std::uint8_t>(inside ? 255 - 2 * distance : ground));
      out.push_back(static_cast<std::uint8_t>(inside ? 40 : ground));
      out.push_back(static_cast<std::uint8_t>(inside ? 60 : ground + 20));
    }
  }
  return out;
}

// The encoded frames of an mp4 file, without what the container says of them.
std::string media_of(const std::string& file) {
  const auto at = file.find("mdat");
  if (at == std::string::npos || at < 4) throw InvariantError("an mp4 without media");
  std::size_t size = 0;
  for (std::size_t i = 4; i > 0; --i) size = size * 256 + static_cast<unsigned char>(file[at - i]);
  return file.substr(at + 4, size - 8);
}

}  // namespace

// Files that differ with the processor would be another dataset to a run that goes on elsewhere.
TEST_CASE("x264 writes the same bytes on every processor") {
  const test::TempFolder folder;
  const auto file = folder.path() / "disc.mp4";
  try {
    VideoFile video(file, choose_video_encoder("libx264"), kSize, 10);
    for (int i = 0; i < kFrames; ++i) video.add(picture(i).data());
    video.finish();
  } catch (const ConfigError&) {
    std::cout << "SKIPPED: this FFmpeg has no libx264\n";
    return;
  }
  const std::string media = media_of(read_file(file));
  // Another build of x264 may choose otherwise.
  if (media.find("core 164 r3095 baee400") == std::string::npos) {
    std::cout << "SKIPPED: the bytes of this build of x264 are not known\n";
    return;
  }
  CHECK(hash_hex(content_hash(media.data(), media.size())) == "d1a5cc2bee8fce1c");
}

}  // namespace wam::lerobot_writer
