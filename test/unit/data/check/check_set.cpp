#include "test/unit/data/check/check_set.h"

#include <cmath>

#include <fmt/core.h>

#include "test/support/arm_format.h"

namespace wam::test {
namespace {

constexpr std::int64_t kHeight = 32;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kSquare = 8;

std::vector<std::uint8_t> pictures(std::int64_t episode, std::int64_t camera, std::int64_t frames) {
  std::vector<std::uint8_t> out;
  for (std::int64_t i = 0; i < frames; ++i) {
    const std::int64_t left = (3 * i + 7 * camera + 11 * episode) % (kWidth - kSquare);
    const std::int64_t top = (2 * i + 5 * episode) % (kHeight - kSquare);
    for (std::int64_t y = 0; y < kHeight; ++y) {
      for (std::int64_t x = 0; x < kWidth; ++x) {
        const bool inside = x >= left && x < left + kSquare && y >= top && y < top + kSquare;
        const auto level = static_cast<std::uint8_t>(inside ? 230 : 40 + x + 20 * camera);
        out.insert(out.end(), {level, level, static_cast<std::uint8_t>(level / 2)});
      }
    }
  }
  return out;
}

std::vector<float> joints(std::int64_t episode, std::int64_t frames, std::int64_t ahead) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < frames; ++i) {
    for (int d = 0; d < 3; ++d) {
      const auto t = static_cast<float>(i + ahead + 5 * episode);
      out.push_back(std::sin(t / 7 + static_cast<float>(d)) + 0.01F * static_cast<float>(episode));
    }
  }
  return out;
}

}  // namespace

void write_check_set(const std::filesystem::path& root, const CheckSet& set) {
  lerobot_writer::Format format = arm_format({kHeight, kWidth});
  format.version = set.version;
  format.pictures = set.layout;
  lerobot_writer::Writer writer(root, format);
  for (std::int64_t e = 0; e < set.episodes; ++e) {
    lerobot_writer::Recording recording;
    recording.task = fmt::format("reach {}", e);
    recording.frames = set.frames;
    for (std::int64_t c = 0; c < 3; ++c) {
      recording.pictures_THWC.push_back(pictures(e, c, set.frames));
    }
    recording.vectors = {joints(e, set.frames, 0), joints(e, set.frames, 1)};
    if (set.edit) set.edit(e, recording);
    writer.add(recording);
  }
  writer.finish();
}

std::filesystem::path WrittenSet::video(const std::string& view, std::int64_t episode) const {
  return root() /
         fmt::format("videos/chunk-000/observation.images.{}/episode_{:06}.mp4", view, episode);
}

std::filesystem::path WrittenSet::table(std::int64_t episode) const {
  return root() / fmt::format("data/chunk-000/episode_{:06}.parquet", episode);
}

CheckOptions check_options(const std::filesystem::path& root, CheckDepth depth) {
  CheckOptions options;
  options.root = root;
  options.embodiment =
      find_embodiment("tiny", std::filesystem::path(WAM_SOURCE_DIR) / "configs/embodiment");
  options.view_height = kHeight;
  options.view_width = kWidth;
  options.depth = depth;
  options.threads = 2;
  return options;
}

std::vector<Fault> faults_of(const CheckReport& report, FaultKind kind) {
  std::vector<Fault> out;
  for (const Fault& fault : report.faults) {
    if (fault.kind == kind) out.push_back(fault);
  }
  return out;
}

std::vector<std::string> in_short(const CheckReport& report) {
  std::vector<std::string> out;
  for (const Fault& fault : report.faults) {
    if (severity_of(fault.kind) == Severity::kNote) continue;
    out.push_back(fmt::format("{} {} {} {}", name_of(fault.kind), fault.episode.value_or(-1),
                              fault.frame.value_or(-1), name_of(fault.effect)));
  }
  return out;
}

}  // namespace wam::test
