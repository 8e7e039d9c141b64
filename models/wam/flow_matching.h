#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// Noise levels of training: s_i = linspace(1, 0, 1001)[i], sigma_i = 5 s_i / (1 + 4 s_i),
// timestep tau_i = 1000 sigma_i, loss weight w_i from exp(-2 ((tau_i - 500) / 1000)^2), shifted to
// a minimum of zero and scaled to a mean of one. All float32, as the reference holds them.
// Source: DreamZero flow_match_scheduler.py @ ab790c1, set_timesteps(training=True), shift 5.
struct FlowSchedule {
  static constexpr std::int64_t kSteps = 1000;
  static constexpr double kShift = 5.0;

  at::Tensor sigma;     // (1000), from 1 down
  at::Tensor timestep;  // (1000)
  at::Tensor weight;    // (1000)
};
FlowSchedule flow_schedule(at::Device device);

// sigma of a sampling position s in [0, 1].
double shifted_sigma(double s);
// The noise levels of `steps` Euler steps, from 1 to 0: steps + 1 values.
std::vector<double> sampling_sigmas(std::int64_t steps);

// B batch · C channel · F Y X latent frame, row, column · R frame 0 and each block · P action ·
// A action value

// The random part of a training sample.
struct Draws {
  at::Tensor noise_BCFYX;
  at::Tensor noise_BPA;
  at::Tensor level_BR;  // int64 indices into the schedule: frame 0 and each block
  at::Tensor level_BP;  // of each action, or undefined: that of its block
};

// Keyed by seed and the ordinal of each sample; float32 and int64, generated on the CPU (pinned
// when `device` is a GPU) and moved without waiting.
Draws make_draws(std::uint64_t seed,
                 const std::vector<std::uint64_t>& ordinals,
                 const std::vector<std::int64_t>& latent_CFYX,
                 const std::vector<std::int64_t>& action_PA,
                 at::Device device);

// Training pairs at the drawn levels: x_t = (1 - sigma) x + sigma noise and the target noise - x.
struct Mixed {
  at::Tensor noisy_BCFYX;
  at::Tensor target_BCFYX;
  at::Tensor noisy_BPA;
  at::Tensor target_BPA;
  at::Tensor video_timestep_BR;   // float32
  at::Tensor action_timestep_BP;  // undefined: that of the block
  at::Tensor video_weight_BF;     // loss weights
  at::Tensor action_weight_BP;
};

// Mixes in the accumulate type of `latent`; results have that type.
Mixed mix(const at::Tensor& latent_BCFYX,
          const at::Tensor& action_BPA,
          const Draws& draws,
          const FlowSchedule& schedule);

}  // namespace wam
