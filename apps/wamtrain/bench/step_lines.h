#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/train/step_times.h"

namespace wam {

// What a benchmark reads of a line of metrics.jsonl.
struct StepLine {
  StepTimes times;
  bool skipped = false;
};
// Errors: DataError naming the file.
std::vector<StepLine> read_step_lines(const std::filesystem::path& metrics);

// A file in the system's folder for such, gone with the object.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ScratchFile(ScratchFile&&) = delete;
  ScratchFile& operator=(ScratchFile&&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wam
