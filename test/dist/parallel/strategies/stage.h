#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/launch/gathering.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategies/sharded_units.h"
#include "parallel/watch/progress.h"
#include "test/dist/parallel/strategies/small_training.h"

namespace wam::test {

// One training of the matrix.
struct Case {
  ShardingStrategy strategy = ShardingStrategy::kNoShard;
  Offload offload = Offload::kNone;
  ReduceTime reduce = ReduceTime::kLast;
  RecomputePolicy recompute = RecomputePolicy::kNone;
  at::ScalarType type = at::kDouble;
  Job job = {};
};
std::string in_words(const Case& c);

// What the cases of one rank share: the other ranks, the samples, the models.
class Stage {
 public:
  static constexpr int kGroup = 2;  // ranks, of hybrid_shard

  // Meets the others.
  explicit Stage(const std::string& run_dir);

  [[nodiscard]] const LaunchEnv& env() const { return env_; }
  [[nodiscard]] const Windows& windows() const { return windows_; }
  [[nodiscard]] std::vector<ShardingStrategy> strategies() const;
  [[nodiscard]] Layout layout(const Case& c) const;
  // Collectives that this rank has issued.
  [[nodiscard]] std::uint64_t issued() const { return progress_.state(0).issued; }

  [[nodiscard]] BatchPlan plan(std::uint64_t global_batch, std::int64_t micro_batch) const;
  const MeshAxes& axes(const Layout& layout);
  WamModel& model(const Case& c);
  ShardedUnits make_sharding(const Case& c, at::ScalarType reduce_type);
  // Of this rank without the others.
  ShardedUnits make_lone_sharding(const Case& c);
  void leave() { gathering_.leave(); }

 private:
  LaunchEnv env_;
  Gathering gathering_;
  Progress progress_;
  Windows windows_{width_32()};
  std::map<int, MeshAxes> axes_;  // by ranks that shard
  std::map<std::pair<at::ScalarType, RecomputePolicy>, std::unique_ptr<SmallModel>> models_;
};

}  // namespace wam::test
