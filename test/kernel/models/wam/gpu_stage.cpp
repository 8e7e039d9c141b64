#include "test/kernel/models/wam/gpu_stage.h"

namespace wam::test {

std::unique_ptr<ShardedUnits> units_on_gpu(const WamConfig& config, at::ScalarType type) {
  const Dit dit(config, {RecomputePolicy::kNone});
  const auto host = random_units(dit, at::kFloat);
  auto out = std::make_unique<ShardedUnits>(
      dit.units(), ShardedUnits::Options{.device = kDevice, .compute_type = type});
  for (std::size_t i = 0; i < out->units().size(); ++i) {
    out->units()[i].compute().copy_(host->units()[i].compute());
  }
  return out;
}

Stage::Stage(const WamConfig& c, at::ScalarType type)
    : config(c),
      engine(make_attention_engine(kDevice, type, /*deterministic=*/true)),
      units(units_on_gpu(c, type)),
      schedule(flow_schedule(kDevice)) {}

EncodedBatch Samples::part(std::int64_t begin, std::int64_t count) const {
  const auto of = [&](const at::Tensor& t) {
    return t.defined() ? t.narrow(0, begin, count) : at::Tensor();
  };
  return {of(batch.latent_BCFYX),    of(batch.condition_BCFYX),  of(batch.text_BMD),
          of(batch.clip_BMD),        of(batch.state_BNS),        of(batch.action_BPA),
          of(batch.action_mask_BPA), of(batch.has_real_action_B)};
}

Draws Samples::draws(std::int64_t begin, std::int64_t count) const {
  std::vector<std::uint64_t> ordinals;
  for (std::int64_t i = 0; i < count; ++i)
    ordinals.push_back(static_cast<std::uint64_t>(begin + i));
  return make_draws(5, ordinals, latent_CFYX, action_PA, kDevice);
}

Samples samples_for(const WamConfig& config, const InputShape& shape, at::ScalarType type) {
  EncodedBatch host = random_batch(config, shape, type);
  Samples out;
  out.latent_CFYX = host.latent_BCFYX.sizes().slice(1).vec();
  out.action_PA = host.action_BPA.sizes().slice(1).vec();
  const auto move = [&](const at::Tensor& t, at::ScalarType to) {
    return t.defined() ? t.to(kDevice, to) : at::Tensor();
  };
  out.batch = {move(host.latent_BCFYX, type),
               move(host.condition_BCFYX, type),
               move(host.text_BMD, type),
               move(host.clip_BMD, type),
               move(host.state_BNS, type),
               move(host.action_BPA, at::kFloat),
               move(host.action_mask_BPA, at::kFloat),
               move(host.has_real_action_B, at::kFloat)};
  return out;
}

}  // namespace wam::test
