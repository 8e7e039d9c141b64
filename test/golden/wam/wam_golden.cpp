#include "test/golden/wam/wam_golden.h"

#include <algorithm>
#include <cmath>

#include <ATen/ops/cat.h>

#include <fmt/format.h>

#include "test/support/catch.h"

namespace wam::test {

namespace {

// Note [Limits on a GPU]
// A block rounds about 20 tensors one after the other, and the parts before and after the blocks
// as many again. A gradient takes the way twice. In fp32 the terms of every sum round as well; the
// longest goes over the image tokens of both samples.
double result_error(const GoldenPlace& place, const WamConfig& c) {
  const auto longest = static_cast<double>(std::max(c.ffn_width, 2 * c.clip_tokens));
  const double terms = place.type == at::kFloat ? longest : 1.0;
  return rounding_error(place.type, 20.0 * static_cast<double>(c.layers + 1) * terms);
}

// The gradients that go through one of the two ReLUs and nothing else. In bf16, where a ReLU's
// input is zero to within its error, the gradient passes where it should stop, or the other way
// round: a share `error` of the inputs, and that changes the whole by the root of it.
bool is_behind_relu(const std::string& name) {
  return name == "action" || name.starts_with("action_encoder.") ||
         name.starts_with("action_decoder.layer1.") || name.starts_with("state_encoder.layer1.");
}

}  // namespace

WamConfig config_of(const GoldenFile& file, const std::string& clip) {
  const auto& j = file.config();
  const auto size = [&](const char* key) { return j.at(key).get<std::int64_t>(); };
  WamConfig c;
  c.preset = file.name();
  c.type = *parse_name<ModelType>(j.at("model_type").get<std::string>());
  c.width = size("dim");
  c.layers = size("num_layers");
  c.heads = size("num_heads");
  c.ffn_width = size("ffn_dim");
  c.latent_channels = size("out_dim");
  c.frequency_width = size("freq_dim");
  c.text_length = size("text_len");
  c.text_width = size("text_dim");
  c.clip_width = size("clip_dim");
  c.clip_tokens = file.specs().at(clip).at("shape").at(1).get<std::int64_t>();
  c.hidden_width = size("hidden_size");
  c.action_width = size("action_dim");
  c.state_width = size("max_state_dim");
  c.actions_per_block = size("num_action_per_block");
  c.max_blocks = size("max_chunk_size");
  REQUIRE(size("num_frame_per_block") == WamConfig::kFramesPerBlock);
  REQUIRE(size("in_dim") == c.input_channels());
  return c;
}

bool runs_at(const GoldenPlace& place, const GoldenFile& file, const WamConfig& config) {
  if (place.device.is_cpu()) return true;
  const auto problem = kernel_size_problem(config);
  if (problem) fmt::print("SKIPPED: {} on a GPU: {}\n", file.name(), *problem);
  return !problem;
}

std::unique_ptr<ShardedUnits> golden_units(const GoldenFile& file,
                                      const Dit& dit,
                                      const GoldenPlace& place) {
  ShardedUnits::Options options;
  options.device = place.device;
  options.compute_type = place.type;
  options.state_type = place.type == at::kDouble ? at::kDouble : at::kFloat;
  auto out = std::make_unique<ShardedUnits>(dit.units(), options);
  std::size_t used = 0;
  for (Unit& unit : out->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i, ++used) {
      const at::Tensor value = file.build("param." + unit.spec().tensors[i].name, place.type);
      REQUIRE(value.sizes() == unit.weight(i).sizes());
      unit.weight(i).copy_(value);
    }
  }
  REQUIRE(used == file.formula_names("param.").size());
  return out;
}

at::Tensor per_block(const at::Tensor& per_frame_BF) {
  const std::int64_t frames = per_frame_BF.size(1);
  const at::Tensor first = per_frame_BF.slice(1, 1, frames, 2);
  return at::cat({per_frame_BF.narrow(1, 0, 1), first}, 1);
}

Limits limits_for(const GoldenPlace& place, const WamConfig& config) {
  if (place.type == at::kDouble) return {1e-9, 1e-9, 2e-7};
  if (place.device.is_cpu()) return {2e-5, 5e-5, 5e-5};
  const double output = result_error(place, config);
  const double gradient = 2 * std::sqrt(2.0) * output;
  // A gradprint is over 1024 elements and more: at least 32 rows or columns, each with errors of
  // its own, whose mean it takes.
  return {output, gradient / std::sqrt(32.0), gradient};
}

double loss_limit(const GoldenPlace& place, const WamConfig& config, std::int64_t values) {
  if (place.type == at::kDouble) return 1e-9;
  if (place.device.is_cpu()) return 2e-6;
  return 4 * result_error(place, config) / std::sqrt(static_cast<double>(values));
}

Limits limits_of_gradient(const GoldenPlace& place, const Limits& limits, const std::string& name) {
  if (place.type != at::kBFloat16 || !is_behind_relu(name)) return limits;
  const double flipped = 2 * std::sqrt(limits.output);
  return {limits.output, flipped / limits.stored_gradient * limits.gradient, flipped};
}

void check_gradient(const GoldenFile& file,
                    const GoldenPlace& place,
                    const Limits& limits,
                    const at::Tensor& gradient,
                    const std::string& name) {
  INFO(file.name() << " gradient of " << name);
  const auto error = file.gradient_error(gradient, name);
  const Limits own = limits_of_gradient(place, limits, name);
  CHECK(error.print < own.gradient);
  CHECK((place.device.is_cpu() ? error.stored : error.rms) < own.stored_gradient);
}

void check_gradients(const GoldenFile& file,
                     const GoldenPlace& place,
                     const Limits& limits,
                     ShardedUnits& units) {
  for (const Unit& unit : units.units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      check_gradient(file, place, limits, unit.weight_gradient(i), unit.spec().tensors[i].name);
    }
  }
}

}  // namespace wam::test
