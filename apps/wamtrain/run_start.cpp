#include "apps/wamtrain/run_start.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/errors.h"
#include "core/io/disk.h"
#include "core/train/checkpoint_folder.h"
#include "core/train/checkpoint_space.h"
#include "core/train/checkpoint_verify.h"

namespace wam {
namespace {

std::unique_ptr<CheckpointReader> open_named(const std::filesystem::path& folder, Log& log) {
  const CheckpointCheck check = verify_checkpoint(folder);
  require<DataError>(check.ok(),
                     "resuming from {}: {}\nFix: name another checkpoint, or set "
                     "checkpoint.resume: auto, which takes the newest whole one of run.dir.",
                     folder.string(), check.text());
  log.info("resuming from " + folder.string());
  return std::make_unique<CheckpointReader>(folder);
}

bool lies_in(const std::filesystem::path& checkpoint, const CheckpointFolder& checkpoints) {
  std::error_code ignored;
  return std::filesystem::equivalent(std::filesystem::canonical(checkpoint).parent_path(),
                                     checkpoints.path(), ignored);
}

}  // namespace

RunFolderLock::RunFolderLock(const std::filesystem::path& folder) {
  const auto path = folder / "run.lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  require<DeviceError>(descriptor_ >= 0, "opening {}: {}.", path.string(), std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  ::close(descriptor_);
  throw ConfigError(
      fmt::format("run.dir: another process is training in {}. Fix: stop it, or give "
                  "this run a folder of its own.",
                  folder.string()));
}

RunFolderLock::~RunFolderLock() {
  ::close(descriptor_);
}

std::filesystem::path checkpoints_path(const ResolvedRecipe& recipe) {
  return recipe.options.run.dir / "checkpoints";
}

std::unique_ptr<CheckpointReader> find_start(const ResolvedRecipe& recipe, Log& log) {
  const std::string& resume = recipe.options.checkpoint.resume;
  const CheckpointFolder checkpoints(checkpoints_path(recipe));
  if (resume == "never") {
    require<ConfigError>(!checkpoints.has_data(),
                         "checkpoint.resume: never, but {} holds checkpoints. Fix: give the run "
                         "another run.dir, or set checkpoint.resume: auto.",
                         checkpoints.path().string());
    return nullptr;
  }
  if (resume != "auto" && (!checkpoints.has_data() || lies_in(resume, checkpoints))) {
    return open_named(resume, log);
  }
  if (resume != "auto") {
    log.info(
        fmt::format("checkpoint.resume: {} gave this run its start; going on from its own "
                    "checkpoints",
                    resume));
  }
  const Resumable found = find_resumable(checkpoints);
  for (const auto& check : found.passed_over) {
    log.warn(fmt::format("passing over {}: {}", check.folder.string(), check.text()));
  }
  if (!found.folder) return nullptr;
  log.info("resuming from " + found.folder->string());
  return std::make_unique<CheckpointReader>(*found.folder);
}

void check_checkpoint_space(const ResolvedRecipe& recipe,
                            std::int64_t first_step,
                            std::uint64_t bytes_each,
                            Log& log) {
  const CheckpointSection& section = recipe.options.checkpoint;
  const CheckpointFolder checkpoints(checkpoints_path(recipe));
  const auto steps = checkpoints.steps();
  const auto there =
      std::count_if(steps.begin(), steps.end(), [&](auto step) { return step <= first_step; });
  const std::int64_t saves =
      planned_saves(first_step, recipe.train.options.steps, section.every, section.at_end);
  const std::string warning =
      judge_space({.bytes_each = bytes_each, .saves = saves, .keep = section.keep, .there = there},
                  free_space(checkpoints.path(), "counting the space for checkpoints"),
                  checkpoints.path().string());
  if (!warning.empty()) log.warn(warning);
}

}  // namespace wam
