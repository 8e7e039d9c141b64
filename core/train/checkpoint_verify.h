#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/train/checkpoint_folder.h"

namespace wam {

// What a look at every byte of a checkpoint found.
struct CheckpointCheck {
  std::filesystem::path folder;
  std::int64_t step = 0;
  std::size_t files = 0;              // that are whole
  std::uint64_t bytes = 0;            // of them
  std::vector<std::string> problems;  // one line each; empty: the checkpoint is good

  [[nodiscard]] bool ok() const noexcept { return problems.empty(); }
  // "step 20, 2 files, 1.2 GiB, all hashes hold" or the problems, a line each; without the folder.
  [[nodiscard]] std::string text() const;
};

// Hears how far the hashing is, from any of its threads.
using HashProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// Reads the manifest and hashes every file that it lists, on up to `threads` threads (0: one per
// core). Never throws for what is wrong with the checkpoint: that is the result.
CheckpointCheck verify_checkpoint(const std::filesystem::path& folder,
                                  unsigned threads = 0,
                                  const HashProgress& progress = {});

// The checkpoint to go on from.
struct Resumable {
  std::optional<std::filesystem::path> folder;  // nothing: the run starts fresh
  std::int64_t step = 0;
  std::vector<CheckpointCheck> passed_over;  // newer ones that are damaged
};

// The newest checkpoint whose hashes hold. Nothing when there is no checkpoint at all.
// Errors: DataError when there are checkpoints and none is good: such a run never starts afresh.
Resumable find_resumable(const CheckpointFolder& checkpoints);

}  // namespace wam
