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
  int rank = 0;                   // of `world` data-parallel ranks, which share the windows
  int world = 1;
  std::function<void()> moved = {};  // called after each micro-batch
};

using Collate = std::function<Batch(const std::vector<Sample>&)>;

// Losses and sampled actions on a fixed choice of held-back windows, spread evenly over them, under
// evaluation transforms and with draws that never change: two validations differ by the weights
// alone. Rank r scores the windows r, r + world, ...; all ranks make the same calls on the sharding
// and get the same figures, which are those of one rank but for the order of sums.
//
// The per-dimension figures go by the position of the value in the action vector; in a mixture of
// embodiments their names are those of the first window's.
class Validator {
 public:
  // Decodes this rank's windows. Errors: DataError when there is no held-back window.
  Validator(const Dataset& held_back, const Collate& collate, const ValidationOptions& options);

  // All ranks together. The first also writes RUN/validation/step_NNNNNNNN.json with the actions of
  // the windows kept, where a folder is named.
  ValidationMetrics run(Model& model,
                        Sharding& sharding,
                        std::int64_t step,
                        const std::filesystem::path& run_folder) const;

  // Of all ranks.
  [[nodiscard]] std::int64_t windows() const { return windows_; }
  // Windows that this rank has others in the place of, since their content is bad.
  [[nodiscard]] const std::vector<BadSample>& replaced() const { return replaced_; }

 private:
  struct Sums;

  // Position in the list of windows, whose draws are keyed by it.
  [[nodiscard]] Sample load(std::int64_t position) const;
  [[nodiscard]] std::vector<Batch> batches_of(const std::vector<Sample>& samples,
                                              const Collate& collate) const;
  void score(Model& model, Sharding& sharding, Sums& sums) const;
  void score_shuffled(Model& model, Sharding& sharding, Sums& sums) const;
  void write_kept(const Sums& sums, std::int64_t step, const std::filesystem::path& folder) const;

  const Dataset& held_back_;
  ValidationOptions options_;
  std::int64_t windows_ = 0;
  std::vector<std::int64_t> shape_PA_;
  std::vector<std::int64_t> kept_;    // their positions
  std::vector<Sample> kept_samples_;  // of the first rank, without pictures
  std::vector<BadSample> replaced_;
  std::vector<Batch> batches_;   // this rank's, as many as every rank's; the last may be empty
  std::vector<Batch> shuffled_;  // the same with the pictures and prompts of other windows
};

}  // namespace wam
