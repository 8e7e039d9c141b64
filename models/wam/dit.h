#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/train/sharding.h"
#include "models/wam/block.h"
#include "models/wam/config.h"
#include "models/wam/embeddings.h"
#include "models/wam/head.h"
#include "models/wam/recompute.h"

namespace wam {

// The world-action diffusion transformer over units that a Sharding holds: unit 0 the embeddings,
// unit 1 + i block i, the last unit the head.
class Dit {
 public:
  // `attention` must outlive it; null: the plain form.
  // Errors: ConfigError when sizes do not fit each other.
  Dit(const WamConfig& config,
      const RecomputePlan& recompute,
      AttentionEngine* attention = nullptr);

  [[nodiscard]] const WamConfig& config() const noexcept { return config_; }
  [[nodiscard]] const std::vector<UnitSpec>& units() const noexcept { return units_; }

  // One forward whose graph may be walked backward once. Embeddings and head stay acquired until
  // `finish` or `end_backward` gives them back.
  class Forward {
   public:
    Forward(Sharding& sharding, std::size_t embeddings, std::size_t head)
        : sharding_(sharding), embeddings_(embeddings), head_(head) {}

    DitOutput output;

    // With gradients: call between the forward and torch's backward ...
    void begin_backward();
    // ... and after it: adds the gradients of both units and reports them complete.
    void end_backward();
    // Without: gives both units back.
    void finish();

   private:
    friend class Dit;
    Sharding& sharding_;
    std::size_t embeddings_;
    std::size_t head_;
    std::optional<Leaves> embedding_leaves_;
    std::optional<Leaves> head_leaves_;
  };

  // Shapes: all blocks full, (F - 1) / 2 = N. Errors: InvariantError naming what does not fit.
  [[nodiscard]] std::unique_ptr<Forward> forward(const DitInput& in,
                                                 Sharding& sharding,
                                                 Leaves::Track track);
  // The calls on `sharding` of a forward (and a backward) without data.
  void walk_empty(Sharding& sharding, Leaves::Track track) const;

  [[nodiscard]] TokenLayout layout_of(const DitInput& in) const;
  // What every block but the last works from, for inputs of this shape.
  [[nodiscard]] std::shared_ptr<const BlockPlan> inner_plan(const DitInput& in) {
    return plans_for(in).inner;
  }

 private:
  struct Plans {
    TokenLayout layout;
    std::int64_t text_rows = 0;
    at::ScalarType type = at::kFloat;
    at::Device device = at::kCPU;
    std::shared_ptr<const BlockPlan> inner;
    std::shared_ptr<const BlockPlan> last;
  };
  const Plans& plans_for(const DitInput& in);

  WamConfig config_;
  RecomputePlan recompute_;
  AttentionEngine* attention_;
  std::vector<UnitSpec> units_;
  std::vector<Plans> plans_;  // one a shape: few
};

}  // namespace wam
