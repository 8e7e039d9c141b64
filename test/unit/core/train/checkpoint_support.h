#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/manifest.h"
#include "core/train/rank_agreement.h"
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

// Threads of this process in place of ranks: an exchange of texts between them.
class ThreadRanks {
 public:
  explicit ThreadRanks(int world_size) : world_size_(static_cast<std::size_t>(world_size)) {}
  // What that rank exchanges through. CommError when another has not come within 20 s.
  [[nodiscard]] ExchangeTexts exchange(int rank);
  // Runs `work` for every rank, each on a thread, and returns the message of what it threw, ""
  // where it did not.
  std::vector<std::string> run(const std::function<void(int rank)>& work) const;

 private:
  std::size_t world_size_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::string, std::map<int, std::string>> texts_;  // by key, by rank
};

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
