#include <cstdio>

#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "apps/wamtrain/hash_progress.h"
#include "core/base/errors.h"
#include "core/train/checkpoint_verify.h"

namespace wam {

int verify_command(const std::filesystem::path& checkpoint) {
  require<ConfigError>(std::filesystem::is_directory(checkpoint),
                       "verify: there is no folder {}. Fix: give a step_* folder of "
                       "RUN/checkpoints.",
                       checkpoint.string());
  CheckpointCheck check;
  {
    HashProgressLine line;
    check = verify_checkpoint(checkpoint, 0, line.show());
  }
  fmt::print("{}: {}\n", checkpoint.string(), check.text());
  return check.ok() ? kExitOk : kExitStopped;
}

}  // namespace wam
