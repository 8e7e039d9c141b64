#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/train/checkpoint_folder.h"
#include "core/train/checkpoint_verify.h"

namespace wam {

// A checkpoint as a person wants to see it.
struct ListedCheckpoint {
  CheckpointEntry entry;
  double age_s = 0;         // since it was written
  std::uint64_t bytes = 0;  // of what is there
  std::string problem;      // what is wrong with a complete one or one set aside; empty: nothing
  bool is_latest = false;   // `latest` names it
  bool is_resumed = false;  // checkpoint.resume: auto takes it

  // "complete", "damaged", "temporary", "being deleted" or "set aside".
  [[nodiscard]] std::string state() const;
};

enum class CheckpointLook { kSizes, kHashes };

// All that a folder holds, by step. kSizes finds manifests that are damaged, files that are missing
// or cut short; kHashes reads every byte, as resuming does. Errors: DataError when the folder
// cannot be read.
std::vector<ListedCheckpoint> list_checkpoints(const CheckpointFolder& folder,
                                               CheckpointLook look,
                                               const HashProgress& progress = {});

}  // namespace wam
