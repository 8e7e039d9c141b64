#include "test/unit/models/wam/random_dit.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include "core/random/counter.h"

namespace wam::test {

at::Tensor random_tensor(const std::vector<std::int64_t>& shape, std::uint64_t key) {
  at::Tensor out = at::empty(shape, at::kFloat);
  CounterStream(7, Purpose::kInitialise, key).normals(out.mutable_data_ptr<float>(), out.numel());
  return out.to(at::kDouble);
}

WamConfig small_config(ModelType type) {
  WamConfig c;
  c.preset = "small";
  c.type = type;
  c.width = 32;
  c.layers = 2;
  c.heads = 2;
  c.ffn_width = 40;
  c.latent_channels = 3;
  c.frequency_width = 16;
  c.text_length = 9;
  c.text_width = 10;
  c.clip_tokens = 4;
  c.clip_width = 12;
  c.hidden_width = 11;
  c.action_width = 5;
  c.state_width = 7;
  c.actions_per_block = 3;
  c.max_blocks = 3;
  return c;
}

WamConfig kernel_config(ModelType type) {
  WamConfig c;
  c.preset = "small-gpu";
  c.type = type;
  c.width = 256;
  c.layers = 3;
  c.heads = 2;
  c.ffn_width = 512;
  c.latent_channels = 8;
  c.frequency_width = 32;
  c.text_length = 32;
  c.text_width = 64;
  c.clip_tokens = 9;
  c.clip_width = 64;
  c.hidden_width = 64;
  c.action_width = 8;
  c.state_width = 16;
  c.actions_per_block = 8;
  c.max_blocks = 4;
  return c;
}

DitInput random_input(const WamConfig& c, const InputShape& s, at::ScalarType type) {
  const std::int64_t frames = 1 + 2 * s.blocks;
  const auto make = [&](const std::vector<std::int64_t>& shape, std::uint64_t key) {
    return random_tensor(shape, key).to(type);
  };
  DitInput in;
  in.noisy_BCFYX = make({s.samples, c.latent_channels, frames, s.rows, s.columns}, 1);
  in.clean_BCFYX = make({s.samples, c.latent_channels, frames, s.rows, s.columns}, 2);
  if (c.type == ModelType::kI2v) {
    in.condition_BCFYX = make({s.samples, 4 + c.latent_channels, frames, s.rows, s.columns}, 3);
  }
  in.video_timestep_BR = random_tensor({s.samples, 1 + s.blocks}, 4).abs() * 300;
  in.text_BMD = make({s.samples, s.text_rows, c.text_width}, 5);
  in.clip_BMD = make({s.samples, c.clip_tokens, c.clip_width}, 6);
  if (!s.actions) return in;
  in.state_BNS = make({s.samples, s.blocks, c.state_width}, 7);
  in.action_BPA = make({s.samples, s.blocks * c.actions_per_block, c.action_width}, 8);
  if (s.action_time == ActionTime::kOwn) {
    in.action_timestep_BP =
        random_tensor({s.samples, s.blocks * c.actions_per_block}, 9).abs() * 300;
  }
  return in;
}

EncodedBatch random_batch(const WamConfig& c, const InputShape& s, at::ScalarType type) {
  const DitInput in = random_input(c, s, type);
  return {.latent_BCFYX = in.clean_BCFYX,
          .condition_BCFYX = in.condition_BCFYX,
          .text_BMD = in.text_BMD,
          .clip_BMD = in.clip_BMD,
          .state_BNS = in.state_BNS,
          .action_BPA = in.action_BPA.clamp(-1, 1),
          .action_mask_BPA = random_tensor(in.action_BPA.sizes().vec(), 10).gt(-1),
          .has_real_action_B = at::ones({s.samples}, at::kBool)};
}

std::unique_ptr<ShardedUnits> random_units(const Dit& dit, at::ScalarType type) {
  ShardedUnits::Options options;
  options.compute_type = type;
  options.state_type = type == at::kDouble ? at::kDouble : at::kFloat;
  auto out = std::make_unique<ShardedUnits>(dit.units(), options);
  for (Unit& unit : out->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      const TensorSpec& tensor = unit.spec().tensors[i];
      const bool is_matrix =
          tensor.shape.size() > 1 && tensor.name.find("modulation") == std::string::npos;
      const double fan =
          is_matrix ? std::sqrt(static_cast<double>(tensor.numel()) /
                                static_cast<double>(tensor.shape[0] == 1 ? tensor.shape.back()
                                                                         : tensor.shape[0]))
                    : 4.0;
      const bool is_norm =
          tensor.name.find("norm") != std::string::npos && tensor.name.ends_with("weight");
      const at::Tensor value =
          random_tensor(tensor.shape, fnv1a64(tensor.name.data(), tensor.name.size())) / fan +
          (is_norm ? 1.0 : 0.0);
      unit.weight(i).copy_(value);
    }
  }
  return out;
}

BlockSaved first_block_saved(Dit& dit, const DitInput& in, ShardedUnits& units) {
  const at::NoGradGuard no_grad;
  const Leaves embeddings(units.units()[0], Leaves::Track::kNo);
  const Embedded embedded = embed(in, dit.layout_of(in), dit.config(), embeddings);
  const BlockParameters parameters(units.units()[1], 0, WithGradients::kNo);
  BlockSaved saved;
  block_forward(parameters, *dit.inner_plan(in),
                {embedded.token_BLD, embedded.time_BRGD, embedded.text_BMD, embedded.image_BMD},
                saved);
  return saved;
}

std::map<std::string, at::Tensor> leaves_by_name(ShardedUnits& units) {
  std::map<std::string, at::Tensor> out;
  for (const Unit& unit : units.units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      out[unit.spec().tensors[i].name] = unit.weight(i).clone().requires_grad_();
    }
  }
  return out;
}

double relative_error(const at::Tensor& found, const at::Tensor& expected) {
  const at::Tensor e = expected.detach().to(at::kDouble);
  const at::Tensor f = found.detach().to(at::kDouble);
  const double scale = std::max(e.abs().max().item<double>(), 1e-300);
  return (f - e).abs().max().item<double>() / scale;
}

}  // namespace wam::test
