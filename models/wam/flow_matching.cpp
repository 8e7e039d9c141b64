#include "models/wam/flow_matching.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linspace.h>

#include "core/base/parallel.h"
#include "core/ops/parameter.h"
#include "core/random/counter.h"
#include "models/wam/config.h"

namespace wam {
namespace {

constexpr std::int64_t kDrawPiece = 1 << 15;  // values of one thread at a time

at::Tensor host_rows(at::IntArrayRef sizes, at::ScalarType type, at::Device device) {
  return at::empty(sizes, at::TensorOptions().dtype(type).pinned_memory(device.is_cuda()));
}

// (samples, values...): row b holds the first draws of the stream of ordinals[b].
at::Tensor normals(std::uint64_t seed,
                   Purpose purpose,
                   const std::vector<std::uint64_t>& ordinals,
                   const std::vector<std::int64_t>& shape,
                   at::Device device) {
  std::vector<std::int64_t> full = {static_cast<std::int64_t>(ordinals.size())};
  full.insert(full.end(), shape.begin(), shape.end());
  at::Tensor out = host_rows(full, at::kFloat, device);
  auto* row = out.mutable_data_ptr<float>();
  const std::int64_t values = ordinals.empty() ? 0 : out.numel() / out.size(0);
  for (const auto ordinal : ordinals) {
    const CounterStream stream(seed, purpose, ordinal);
    for_each_piece(values, kDrawPiece, static_cast<unsigned>(at::get_num_threads()),
                   [&](std::int64_t begin, std::int64_t count) {
                     stream.normals(row + begin, count, static_cast<std::uint64_t>(begin));
                   });
    row += values;
  }
  return out.to(device, /*non_blocking=*/true);
}

// (samples, levels): noise levels, evenly drawn.
at::Tensor drawn_levels(std::uint64_t seed,
                        const std::vector<std::uint64_t>& ordinals,
                        std::int64_t levels,
                        at::Device device) {
  at::Tensor out =
      host_rows({static_cast<std::int64_t>(ordinals.size()), levels}, at::kLong, device);
  auto* value = out.mutable_data_ptr<std::int64_t>();
  for (const auto ordinal : ordinals) {
    const CounterStream stream(seed, Purpose::kTimestep, ordinal);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(levels); ++i) {
      *value++ = static_cast<std::int64_t>(stream.below(FlowSchedule::kSteps, i));
    }
  }
  return out.to(device, /*non_blocking=*/true);
}

at::Tensor look_up(const at::Tensor& table, const at::Tensor& idx) {
  return table.index_select(0, idx.flatten()).view(idx.sizes());
}

// (B, R) of frame 0 and blocks -> (B, F): both frames of a block have its value.
at::Tensor per_frame(const at::Tensor& x_BR) {
  const at::Tensor blocks = x_BR.narrow(1, 1, x_BR.size(1) - 1)
                                .unsqueeze(-1)
                                .expand({-1, -1, WamConfig::kFramesPerBlock})
                                .flatten(1);
  return at::cat({x_BR.narrow(1, 0, 1), blocks}, 1);
}

at::Tensor per_action(const Draws& draws) {
  if (draws.level_BP.defined()) return draws.level_BP;
  const std::int64_t blocks = draws.level_BR.size(1) - 1;
  return draws.level_BR.narrow(1, 1, blocks)
      .unsqueeze(-1)
      .expand({-1, -1, draws.noise_BPA.size(1) / blocks})
      .flatten(1);
}

}  // namespace

FlowSchedule flow_schedule(at::Device device) {
  const at::Tensor s = at::linspace(1.0, 0.0, FlowSchedule::kSteps + 1, at::kFloat)
                           .narrow(0, 0, FlowSchedule::kSteps);
  const at::Tensor sigma = s * FlowSchedule::kShift / (s * (FlowSchedule::kShift - 1) + 1);
  const at::Tensor timestep = sigma * 1000;
  const at::Tensor bell = (((timestep - 500) / 1000).square() * -2).exp();
  const at::Tensor raised = bell - bell.min();
  const at::Tensor weight = raised * (1000 / raised.sum());
  return {sigma.to(device), timestep.to(device), weight.to(device)};
}

double shifted_sigma(double s) {
  return FlowSchedule::kShift * s / (1.0 + (FlowSchedule::kShift - 1.0) * s);
}

std::vector<double> sampling_sigmas(std::int64_t steps) {
  std::vector<double> out;
  for (std::int64_t i = 0; i <= steps; ++i) {
    out.push_back(shifted_sigma(static_cast<double>(steps - i) / static_cast<double>(steps)));
  }
  return out;
}

Draws make_draws(std::uint64_t seed,
                 const std::vector<std::uint64_t>& ordinals,
                 const std::vector<std::int64_t>& latent_CFYX,
                 const std::vector<std::int64_t>& action_PA,
                 at::Device device) {
  const std::int64_t levels = 1 + (latent_CFYX.at(1) - 1) / WamConfig::kFramesPerBlock;
  Draws draws;
  draws.noise_BCFYX = normals(seed, Purpose::kVideoNoise, ordinals, latent_CFYX, device);
  draws.noise_BPA = normals(seed, Purpose::kActionNoise, ordinals, action_PA, device);
  draws.level_BR = drawn_levels(seed, ordinals, levels, device);
  return draws;
}

Mixed mix(const at::Tensor& latent_BCFYX,
          const at::Tensor& action_BPA,
          const Draws& draws,
          const FlowSchedule& schedule) {
  const auto wide = accumulate_type(latent_BCFYX.scalar_type());
  const auto pair = [&](const at::Tensor& clean_in, const at::Tensor& noise_in,
                        const at::Tensor& sigma) {
    const at::Tensor clean = clean_in.to(wide);
    const at::Tensor noise = noise_in.to(wide);
    return std::pair{clean * (1 - sigma) + noise * sigma, noise - clean};
  };
  const at::Tensor frame_level = per_frame(draws.level_BR);
  const at::Tensor action_level = per_action(draws);
  const at::Tensor frame_sigma = look_up(schedule.sigma, frame_level).to(wide);
  const at::Tensor action_sigma = look_up(schedule.sigma, action_level).to(wide);

  Mixed out;
  std::tie(out.noisy_BCFYX, out.target_BCFYX) =
      pair(latent_BCFYX, draws.noise_BCFYX, frame_sigma.unsqueeze(1).unsqueeze(-1).unsqueeze(-1));
  std::tie(out.noisy_BPA, out.target_BPA) =
      pair(action_BPA, draws.noise_BPA, action_sigma.unsqueeze(-1));
  out.video_timestep_BR = look_up(schedule.timestep, draws.level_BR);
  if (draws.level_BP.defined()) {
    out.action_timestep_BP = look_up(schedule.timestep, draws.level_BP);
  }
  out.video_weight_BF = look_up(schedule.weight, frame_level).to(wide);
  out.action_weight_BP = look_up(schedule.weight, action_level).to(wide);
  return out;
}

}  // namespace wam
