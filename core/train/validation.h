#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "core/train/dataset.h"
#include "core/train/metrics.h"
#include "core/train/model.h"

namespace wam {

struct ValidationOptions {
  std::int64_t windows = 32;
  std::int64_t sampling_steps = 8;
  std::int64_t micro_batch = 8;
  std::uint64_t seed = 0;         // the run's; validation derives draws of its own
  bool shuffled = false;          // also with pictures and prompts exchanged among windows
  std::int64_t windows_kept = 4;  // spread over them: their actions are written out for the report
  std::function<void()> moved = {};  // called after each micro-batch
};

using Collate = std::function<Batch(const std::vector<Sample>&)>;

// Losses and sampled actions on a fixed choice of held-back windows, spread evenly over them, under
// evaluation transforms and with draws that never change: two validations differ by the weights
// alone.
//
// The per-dimension figures go by the position of the value in the action vector; in a mixture of
// embodiments their names are those of the first window's.
class Validator {
 public:
  // Decodes the windows. Errors: DataError when there is no held-back window.
  Validator(const Dataset& held_back, const Collate& collate, const ValidationOptions& options);

  // Also writes RUN/validation/step_NNNNNNNN.json with the actions of the windows kept, where a
  // folder is named.
  ValidationMetrics run(Model& model,
                        Sharding& sharding,
                        std::int64_t step,
                        const std::filesystem::path& run_folder) const;

  [[nodiscard]] std::int64_t windows() const;

 private:
  const Dataset& held_back_;
  ValidationOptions options_;
  std::vector<Batch> batches_;
  std::vector<Batch> shuffled_;  // the same with the pictures, prompts and texts of other windows
};

}  // namespace wam
