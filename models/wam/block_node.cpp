#include "models/wam/block_node.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "core/base/errors.h"

namespace wam {
namespace {

class BlockNode final : public torch::autograd::Node {
 public:
  BlockNode(BlockCall call, BlockInput input, BlockSaved kept)
      : call_(std::move(call)), input_(std::move(input)), kept_(std::move(kept)) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    invariant(gradients.size() == 1 && gradients[0].defined(), "a block's output has no gradient");
    invariant(input_.x_BLD.defined(), "a block's backward runs a second time");
    const at::NoGradGuard no_grad;
    const Unit& unit = call_.sharding->acquire(call_.unit_idx, Pass::kBackward);
    BlockInput d;
    {
      const BlockParameters parameters(unit, call_.block_idx, WithGradients::kYes);
      BlockSaved saved = std::move(kept_);
      if (call_.policy != RecomputePolicy::kNone) {
        block_rebuild(parameters, *call_.plan, input_, saved);
      }
      d = block_backward(parameters, *call_.plan, input_, saved, gradients[0]);
    }
    release_variables();
    call_.sharding->gradient_complete(call_.unit_idx);
    call_.sharding->release(call_.unit_idx, Pass::kBackward);
    return {d.x_BLD, d.time_BRGD, d.text_BMD, d.image_BMD};
  }

  void release_variables() override {
    input_ = {};
    kept_ = {};
  }

  std::string name() const override { return "wam::BlockNode"; }

 private:
  BlockCall call_;
  BlockInput input_;
  BlockSaved kept_;
};

BlockInput detached(const BlockInput& in) {
  return {in.x_BLD.detach(), in.time_BRGD.detach(), in.text_BMD.detach(), in.image_BMD.detach()};
}

}  // namespace

at::Tensor run_block(const BlockCall& call, const BlockInput& input) {
  const BlockInput values = detached(input);
  BlockSaved saved;
  at::Tensor out;
  {
    const at::NoGradGuard no_grad;
    const Unit& unit = call.sharding->acquire(call.unit_idx, Pass::kForward);
    const BlockParameters parameters(unit, call.block_idx, WithGradients::kNo);
    out = block_forward(parameters, *call.plan, values, saved);
  }
  call.sharding->release(call.unit_idx, Pass::kForward);
  if (!torch::autograd::compute_requires_grad(input.x_BLD, input.time_BRGD, input.text_BMD,
                                              input.image_BMD)) {
    return out;
  }
  drop(call.policy, saved);
  const auto node = std::make_shared<BlockNode>(call, values, std::move(saved));
  node->set_next_edges(torch::autograd::collect_next_edges(input.x_BLD, input.time_BRGD,
                                                           input.text_BMD, input.image_BMD));
  torch::autograd::set_history(out, node);
  return out;
}

}  // namespace wam
