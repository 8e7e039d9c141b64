#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/check/check.h"
#include "data/lerobot_writer/writer.h"
#include "test/support/temp_folder.h"

namespace wam::test {

// A small dataset for the record "tiny" in which nothing is wrong: smooth joints, actions one frame
// ahead, a bright square that wanders over a gradient.
struct CheckSet {
  std::int64_t episodes = 4;
  std::int64_t frames = 48;
  lerobot_writer::PictureLayout layout = lerobot_writer::PictureLayout::kMp4;
  lerobot_writer::Version version = lerobot_writer::Version::k21;
  // Changes an episode before it is written.
  std::function<void(std::int64_t episode, lerobot_writer::Recording&)> edit = {};
};
void write_check_set(const std::filesystem::path& root, const CheckSet& set = {});
// The same, in a folder of its own.
class WrittenSet {
 public:
  explicit WrittenSet(const CheckSet& set = {}) { write_check_set(root(), set); }
  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path video(const std::string& view, std::int64_t episode) const;
  [[nodiscard]] std::filesystem::path table(std::int64_t episode) const;

 private:
  TempFolder folder_;
};

CheckOptions check_options(const std::filesystem::path& root, CheckDepth depth = CheckDepth::kFull);
std::vector<Fault> faults_of(const CheckReport& report, FaultKind kind);
// "kind episode frame effect" of every fault that is no note, for one look.
std::vector<std::string> in_short(const CheckReport& report);

}  // namespace wam::test
