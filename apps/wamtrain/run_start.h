#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/checkpoint_reader.h"

namespace wam {

// Holds a run folder for one process: a second one that would write into it is refused. Released
// with the object, and by the system when the process dies.
class RunFolderLock {
 public:
  explicit RunFolderLock(const std::filesystem::path& folder);
  ~RunFolderLock();
  RunFolderLock(const RunFolderLock&) = delete;
  RunFolderLock& operator=(const RunFolderLock&) = delete;
  RunFolderLock(RunFolderLock&&) = delete;
  RunFolderLock& operator=(RunFolderLock&&) = delete;

 private:
  int descriptor_ = -1;
};

std::filesystem::path checkpoints_path(const ResolvedRecipe& recipe);

// What checkpoint.resume makes the run go on from; null: a fresh start. A named checkpoint of
// another run starts one that has none of its own; started again, the run goes on from its own
// newest, as with `auto`. A named checkpoint of the run itself is gone back to. What was passed
// over, and why, goes to the log. Errors: DataError when there are checkpoints and none can be
// used; ConfigError for `never` where there are checkpoints.
std::unique_ptr<CheckpointReader> find_start(const ResolvedRecipe& recipe, Log& log);

// Counts the space for the checkpoints of `bytes_each` that the run plans after `first_step`:
// better now than at a save. Warns when the disk will be full before the run ends. Errors:
// DeviceError when not even one fits.
void check_checkpoint_space(const ResolvedRecipe& recipe,
                            std::int64_t first_step,
                            std::uint64_t bytes_each,
                            Log& log);

}  // namespace wam
