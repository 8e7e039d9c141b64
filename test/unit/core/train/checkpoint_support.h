#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/manifest.h"
#include "core/train/unit.h"

namespace wam::test {

// Two small units with an extra array, a frozen tensor and padding, as shard `shard_idx`.
std::vector<Unit> make_checkpoint_units(int shard_idx = 0, int num_shards = 1);
// Values that depend on unit, array, position in the whole and `step` alone.
void fill_for_step(std::vector<Unit>& units, std::int64_t step);
// The bytes of all states, by "unit/array".
std::map<std::string, std::string> state_bytes(std::vector<Unit>& units);

RunState make_run(std::int64_t step);
// Saves one checkpoint per step, all of them kept, and waits.
void save_steps(const std::filesystem::path& folder, const std::vector<std::int64_t>& steps);

// Flips one bit of the byte at `position` (from the end when negative).
void flip_byte(const std::filesystem::path& file, std::int64_t position);

// A log that says nothing on the terminal and keeps its lines in a file.
class QuietLog {
 public:
  explicit QuietLog(const std::filesystem::path& file)
      : file_(file), log_({.console = false, .file = file.string()}) {}
  [[nodiscard]] Log& log() noexcept { return log_; }
  [[nodiscard]] std::string text() const;

 private:
  std::filesystem::path file_;
  Log log_;
};

}  // namespace wam::test
