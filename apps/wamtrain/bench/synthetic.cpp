#include "apps/wamtrain/bench/synthetic.h"

#include <algorithm>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "core/random/counter.h"

namespace wam {
namespace {

constexpr std::int64_t kPattern = 1 << 20;
constexpr double kWeightDeviation = 0.02;
constexpr double kGradientDeviation = 1e-4;

}  // namespace

void fill_random(const at::Tensor& flat, double deviation) {
  const std::int64_t count = std::min(kPattern, flat.numel());
  at::Tensor values = at::empty({count}, at::kFloat);
  CounterStream(1, Purpose::kVideoNoise, 0).normals(values.mutable_data_ptr<float>(), count);
  const at::Tensor pattern = values.mul_(deviation).to(flat.options());
  for (std::int64_t at = 0; at < flat.numel(); at += count) {
    const std::int64_t part = std::min(count, flat.numel() - at);
    flat.narrow(0, at, part).copy_(pattern.narrow(0, 0, part));
  }
}

at::Tensor random_values(const std::vector<std::int64_t>& shape,
                         at::Device device,
                         at::ScalarType type,
                         double deviation) {
  at::Tensor out = at::empty(shape, at::TensorOptions(device).dtype(type));
  fill_random(out.flatten(), deviation);
  return out;
}

EncodedBatch synthetic_encoded(const WamConfig& c,
                               std::int64_t samples,
                               std::int64_t text_rows,
                               at::Device device,
                               at::ScalarType type) {
  const auto random = [&](const std::vector<std::int64_t>& shape) {
    return random_values(shape, device, type, 1.0);
  };
  const std::int64_t frames = 1 + WamConfig::kFramesPerBlock * c.max_blocks;
  const std::int64_t rows = c.target_height / c.vae_stride;
  const std::int64_t columns = c.target_width / c.vae_stride;
  const std::int64_t actions = c.max_blocks * c.actions_per_block;
  EncodedBatch batch;
  batch.latent_BCFYX = random({samples, c.latent_channels, frames, rows, columns});
  if (c.type == ModelType::kI2v) {
    batch.condition_BCFYX = random({samples, 4 + c.latent_channels, frames, rows, columns});
  }
  batch.text_BMD = random({samples, text_rows, c.text_width});
  batch.clip_BMD = random({samples, c.clip_tokens, c.clip_width});
  batch.state_BNS = random({samples, c.max_blocks, c.state_width});
  batch.action_BPA =
      random_values({samples, actions, c.action_width}, device, at::kFloat, 1.0).clamp(-1.0, 1.0);
  batch.action_mask_BPA = at::ones(batch.action_BPA.sizes(), batch.action_BPA.options());
  batch.has_real_action_B = at::ones({samples}, batch.action_BPA.options());
  return batch;
}

Batch synthetic_batch(const WamConfig& c,
                      std::int64_t samples,
                      std::int64_t text_rows,
                      std::uint64_t first) {
  const auto random = [](const std::vector<std::int64_t>& shape, at::ScalarType type) {
    return random_values(shape, at::kCPU, type, 1.0);
  };
  Batch batch;
  for (std::int64_t i = 0; i < samples; ++i) {
    batch.id.push_back({.frame = i});
    batch.ordinal.push_back(first + static_cast<std::uint64_t>(i));
    batch.prompt.emplace_back("synthetic");
    batch.text_length.push_back(text_rows);
  }
  const std::int64_t actions = c.max_blocks * c.actions_per_block;
  batch.image_BTHWC =
      random({samples, c.clip_frames(), c.target_height, c.target_width, 3}, at::kFloat)
          .mul_(64.0)
          .add_(128.0)
          .clamp_(0.0, 255.0)
          .to(at::kByte);
  batch.state_BNS = random({samples, c.max_blocks, c.state_width}, at::kFloat);
  batch.action_BPA = random({samples, actions, c.action_width}, at::kFloat).clamp_(-1.0, 1.0);
  batch.action_mask_BPA = at::ones(batch.action_BPA.sizes(), at::kBool);
  batch.has_real_action_B = at::ones({samples}, at::kBool);
  batch.text_BMD = random({samples, text_rows, c.text_width}, at::kBFloat16);
  return batch;
}

void fill_units(Sharding& sharding) {
  const at::NoGradGuard no_grad;
  const auto fill = [&](const at::Tensor& flat, double deviation) {
    if (flat.defined() && flat.numel() > 0) fill_random(flat, deviation);
  };
  std::vector<Unit>& units = sharding.units();
  for (std::size_t i = 0; i < units.size(); ++i) {
    fill(units[i].compute(), kWeightDeviation);
    fill(sharding.shard_compute(i), kWeightDeviation);
    fill(units[i].gradient(), kGradientDeviation);
    const auto master = units[i].states().find("master");
    if (master != units[i].states().end()) fill(master->second, kWeightDeviation);
  }
  sharding.share_weights();
  // What slots for gathered blocks hold where the other ranks are absent.
  sharding.begin_pass();
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (!units[i].spec().held_throughout) {
      fill(sharding.acquire(i, Pass::kForward).compute(), kWeightDeviation);
      sharding.release(i, Pass::kForward);
    }
  }
  sharding.end_pass();
}

}  // namespace wam
