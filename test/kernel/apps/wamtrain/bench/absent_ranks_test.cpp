#include <ATen/ops/equal.h>

#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/bench/units.h"
#include "models/wam/step_graphs.h"
#include "test/kernel/core/ops/kernel_check.h"
#include "test/support/catch.h"

namespace wam {
namespace {

const at::Device kDevice(at::kCUDA, 0);

struct Outcome {
  double loss = 0;
  std::vector<at::Tensor> gradients;  // this rank's part of each unit
};

// Two micro-steps of the tiny model as one of four ranks would compute them.
Outcome run(const RecomputePlan& recompute, bool with_graphs) {
  const WamConfig config = wam_preset("tiny-14b");
  const auto engine = make_attention_engine(kDevice, at::kFloat, /*deterministic=*/true);
  Dit dit(config, recompute, engine.get());
  const auto units = make_bench_units(
      dit.units(), {.device = kDevice, .compute_type = at::kFloat, .mesh = assumed_shard(4)});
  const FlowSchedule schedule = flow_schedule(kDevice);
  const EncodedBatch batch = synthetic_encoded(config, 2, config.text_length, kDevice, at::kFloat);
  const Draws draws = make_draws(1, {0, 1}, batch.latent_BCFYX.sizes().slice(1).vec(),
                                 batch.action_BPA.sizes().slice(1).vec(), kDevice);
  StepGraphs graphs(dit, schedule, kDevice);
  units->begin_step();
  Outcome out;
  for (int i = 0; i < 2; ++i) {
    units->begin_micro_step(i == 1);
    const Losses losses = with_graphs ? graphs.run(batch, draws, *units, 0.5)
                                      : training_step(dit, batch, draws, schedule, *units,
                                                      loss_weight(0.5, batch.text_BMD));
    out.loss += losses.loss.item<double>();
  }
  for (std::size_t i = 0; i < dit.units().size(); ++i) {
    out.gradients.push_back(units->shard_gradient(i).clone());
  }
  return out;
}

}  // namespace

TEST_CASE("A rank without the others computes the same in a CUDA graph, under every policy") {
  if (test::skipped_without_gpu()) return;
  const Outcome plain = run({.policy = RecomputePolicy::kNone}, false);
  CHECK(plain.loss > 0);
  for (const auto& gradient : plain.gradients) CHECK(gradient.abs().max().item<float>() > 0);

  for (const auto& [policy, name] : EnumNames<RecomputePolicy>::table) {
    INFO(name);
    const Outcome replayed = run({.policy = policy}, true);
    CHECK(replayed.loss == plain.loss);
    for (std::size_t i = 0; i < plain.gradients.size(); ++i) {
      CHECK(at::equal(replayed.gradients[i], plain.gradients[i]));
    }
  }
}

}  // namespace wam
