#include "test/unit/data/dataset/arm_set.h"

#include <cmath>
#include <memory>

#include "data/normalise/compute.h"
#include "test/support/arm_format.h"

namespace wam::test {
namespace {

constexpr std::int64_t kHeight = 32;
constexpr std::int64_t kWidth = 64;

std::vector<std::uint8_t> flat_pictures(std::int64_t episode,
                                        std::int64_t camera,
                                        std::int64_t frames,
                                        std::int64_t height) {
  std::vector<std::uint8_t> out;
  for (std::int64_t i = 0; i < frames; ++i) {
    for (std::int64_t p = 0; p < height * kWidth; ++p) {
      out.push_back(static_cast<std::uint8_t>(10 * episode + camera));
      out.push_back(static_cast<std::uint8_t>(i));
      out.push_back(static_cast<std::uint8_t>(100 * camera));
    }
  }
  return out;
}

std::vector<float> joints(std::int64_t episode, std::int64_t frames, float shift) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < frames; ++i) {
    for (int d = 0; d < 3; ++d) {
      out.push_back(static_cast<float>(1000 * episode + i) / 8 + static_cast<float>(d) / 4 + shift);
    }
  }
  return out;
}

}  // namespace

void write_arm_set(const std::filesystem::path& root, const ArmSet& set) {
  lerobot_writer::Format format = arm_format({set.height, kWidth});
  format.version = set.version;
  format.pictures = set.layout;
  format.vectors.back().key = set.action_key;
  lerobot_writer::Writer writer(root, format);
  std::int64_t e = 0;
  for (const auto& [frames, task] : set.episodes) {
    lerobot_writer::Recording recording;
    recording.task = task;
    recording.frames = frames;
    for (std::int64_t c = 0; c < 3; ++c)
      recording.pictures_THWC.push_back(flat_pictures(e, c, frames, set.height));
    recording.vectors = {joints(e, frames, 0), joints(e, frames, 0.5F)};
    if (set.bad_state && set.bad_state->first == e) {
      recording.vectors[0][static_cast<std::size_t>(3 * set.bad_state->second)] = std::nanf("");
    }
    writer.add(recording);
    ++e;
  }
  writer.finish();
}

DatasetMember arm_member(const std::filesystem::path& root) {
  DatasetMember member;
  member.reader = std::make_shared<LeRobotReader>(root);
  member.embodiment =
      find_embodiment("tiny", std::filesystem::path(WAM_SOURCE_DIR) / "configs/embodiment");
  member.binding = bind(*member.reader, member.embodiment);
  member.statistics =
      compute_statistics({{member.reader.get(), &member.binding}}, member.embodiment).statistics;
  return member;
}

WindowDatasetOptions arm_options(const DatasetMember& member) {
  WindowDatasetOptions options;
  options.members = {member};
  options.view_height = kHeight;
  options.view_width = kWidth;
  options.seed = 7;
  options.scan_threads = 2;
  return options;
}

}  // namespace wam::test
