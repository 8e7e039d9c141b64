#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "apps/wamtrain/recipe.h"
#include "core/base/log.h"
#include "core/train/unit.h"
#include "parallel/estimate/spread.h"
#include "parallel/strategies/layout.h"

namespace wam {

// Units of one kind: the embeddings, the blocks, the head.
struct UnitGroup {
  std::string name;
  std::int64_t units = 0;
  std::int64_t parameters = 0;  // of all of them
};

struct PlannedDataset {
  std::string path;
  std::int64_t training_episodes = 0;
  std::int64_t held_back_episodes = 0;
  std::int64_t training_windows = 0;
  std::int64_t held_back_windows = 0;
};

// What a run would be and need, on one rank. Bytes are predictions from shapes.
struct Plan {
  std::vector<UnitGroup> units;
  std::int64_t parameters = 0;
  std::int64_t weight_bytes = 0;     // compute type
  std::int64_t gradient_bytes = 0;   // fp32
  std::int64_t optimizer_bytes = 0;  // master weights and two moments, fp32
  std::int64_t host_bytes = 0;       // of them, in host memory (parallel.offload)
  std::int64_t encoder_bytes = 0;    // VAE and image encoder, unless latents are cached; the
                                     // text encoder is released
  // Activations of one micro-batch by recompute policy, in the order of the policies.
  std::vector<std::pair<std::string, std::int64_t>> activation_bytes;
  std::string recompute;  // the recipe's policy
  std::int64_t checkpoint_bytes = 0;

  std::vector<PlannedDataset> datasets;
  std::int64_t windows = 0;          // to train on
  std::int64_t micro_steps = 0;      // of one optimizer step
  std::int64_t steps_per_epoch = 0;  // rounded up
  double epochs = 0;                 // of the whole run

  // All of it on the device, with this policy.
  [[nodiscard]] std::int64_t memory_bytes(const std::string& policy) const;
};

// What a strategy has of each unit; times are left to who knows them.
std::vector<UnitLoad> unit_loads(const std::vector<UnitSpec>& units);
// The part of a plan that follows from the model and its layout on ranks alone; reads no dataset.
Plan plan_memory(const ResolvedRecipe& recipe, const Layout& layout = {});
// Says what memory is for, and warns when it is more than the device has.
void say_memory(const Plan& plan, c10::Device device, Log& log);
// `needed`: bytes that the ranks of this machine keep in host memory (parallel.offload). Errors:
// ConfigError when the machine has less to give.
void check_host_memory(std::int64_t needed);

// Reads the datasets' tables (labels and lengths), allocates no tensor of the model, touches no
// GPU. Errors: DataError when a dataset cannot be read or holds no window.
Plan make_plan(const ResolvedRecipe& recipe);

}  // namespace wam
