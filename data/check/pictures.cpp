#include "data/check/pictures.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "core/base/data_errors.h"

namespace wam {
namespace {

constexpr std::int64_t kHeldBytes = std::int64_t{64} << 20U;
constexpr const char* kLeaveOut =
    "restore the file from the dataset's source, or leave the episode out";

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

class CameraReader {
 public:
  CameraReader(const LeRobotReader& reader, std::int64_t episode_idx, const std::string& camera)
      : reader_(reader), episode_idx_(episode_idx) {
    look_.camera = camera;
    const auto& root = reader.meta().root;
    const auto video = reader.video_file(episode_idx, camera);
    look_.file =
        (video.empty() ? reader.table_file(episode_idx) : video).lexically_relative(root).string();
  }

  CameraLook run(PictureSize size) {
    const std::int64_t length = reader_.episode_length(episode_idx_);
    const std::int64_t picture_bytes = 3 * size.height * size.width;
    const std::int64_t step = std::clamp<std::int64_t>(kHeldBytes / picture_bytes, 1, length);
    for (std::int64_t begin = 0; begin < length && !look_.fault; begin += step) {
      const std::int64_t end = std::min(begin + step, length);
      if (take(begin, end, size)) continue;
      // One of them is bad: which?
      for (std::int64_t i = begin; i < end && !look_.fault; ++i) take(i, i + 1, size);
    }
    return std::move(look_);
  }

 private:
  // False: a picture does not decode, or several have unequal sizes. The fault is told of one
  // picture alone.
  bool take(std::int64_t begin, std::int64_t end, PictureSize size) {
    try {
      const at::Tensor rgb_THWC =
          reader_.read_frames(episode_idx_, look_.camera, range(begin, end));
      const PictureSize found{rgb_THWC.size(1), rgb_THWC.size(2)};
      if (found == size) {
        look_.motion.add(rgb_THWC);
        return true;
      }
      if (end - begin > 1) return false;
      add(FaultKind::kPictureSize, begin,
          fmt::format("the picture is {}x{}, those of the dataset {}x{}", found.height, found.width,
                      size.height, size.width),
          "scale the pictures to one size, or leave the episode out");
    } catch (const DataError& error) {
      if (end - begin > 1) return false;
      const auto text = error_text(error.what(), reader_.meta().root.string(), look_.file);
      add(FaultKind::kUndecodable, begin, text.message, kLeaveOut);
    }
    return true;
  }

  void add(FaultKind kind, std::int64_t frame, const std::string& message, const char* fix) {
    look_.fault = Fault{kind,       Effect::kBadSample,
                        look_.file, reader_.episode_number(episode_idx_),
                        frame,      fmt::format("{}: {}", look_.camera, message),
                        fix};
  }

  const LeRobotReader& reader_;
  std::int64_t episode_idx_;
  CameraLook look_;
};

Fault plain(FaultKind kind, const CameraLook& look, std::string message, std::string fix) {
  return {kind, Effect::kNone, look.file, {}, {}, std::move(message), std::move(fix)};
}

bool stands_still(const CameraLook& look) {
  return look.motion.frames() > 1 && look.motion.still_frames() == look.motion.frames();
}

// The stretch in which all cameras stand still, of the longest of each.
std::optional<Fault> still_stretch(const std::vector<CameraLook>& cameras,
                                   std::int64_t still_frames) {
  std::int64_t begin = 0;
  std::int64_t end = cameras.front().motion.frames();
  for (const auto& look : cameras) {
    begin = std::max(begin, look.motion.still_begin());
    end = std::min(end, look.motion.still_begin() + look.motion.still_frames());
  }
  if (end - begin < still_frames) return std::nullopt;
  Fault fault = plain(FaultKind::kStill, cameras.front(),
                      fmt::format("no camera's picture changes in {} frames", end - begin),
                      "leave the episode out, or name these starts in meta/step_filter.jsonl");
  fault.file.clear();
  fault.frame = begin;
  return fault;
}

}  // namespace

CameraLook look_at_camera(const LeRobotReader& reader,
                          std::int64_t episode_idx,
                          const std::string& camera,
                          PictureSize size) {
  return CameraReader(reader, episode_idx, camera).run(size);
}

std::vector<Fault> check_pictures(const std::vector<CameraLook>& cameras,
                                  std::int64_t still_frames) {
  std::vector<Fault> faults;
  const bool any_moves = std::any_of(cameras.begin(), cameras.end(),
                                     [](const CameraLook& look) { return !stands_still(look); });
  for (const auto& look : cameras) {
    if (look.fault) faults.push_back(*look.fault);
    if (look.motion.is_blank()) {
      faults.push_back(plain(FaultKind::kBlankCamera, look,
                             fmt::format("{} shows one colour throughout", look.camera),
                             "leave the episode out, or the camera's view out of the record"));
    } else if (any_moves && stands_still(look)) {
      faults.push_back(
          plain(FaultKind::kFrozenCamera, look,
                fmt::format("{} shows one picture throughout, while others move", look.camera),
                "leave the episode out"));
    }
  }
  if (auto still = still_stretch(cameras, still_frames)) faults.push_back(*std::move(still));
  return faults;
}

}  // namespace wam
