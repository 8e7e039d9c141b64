#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace wam {

// The GPUs that a plan is asked for.
struct Cluster {
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;
  // Between nodes, each GPU's own share; needed with several of them.
  std::optional<double> link_gb_s = {};
};

// Errors: ConfigError that lists what does not go together.
void check(const Cluster& cluster);

// The options of `wamtrain plan` as they were written.
struct PlanOptions {
  std::optional<std::int64_t> gpus = {};
  std::optional<std::int64_t> nodes = {};
  std::optional<double> link_gb_s = {};
  std::filesystem::path rates = {};  // empty: configs/rates/h200.yaml
};
// The cluster that they describe; empty without --gpus. Errors: ConfigError.
std::optional<Cluster> cluster_of(const PlanOptions& options);

}  // namespace wam
