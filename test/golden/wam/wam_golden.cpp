#include "test/golden/wam/wam_golden.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>

#include "test/support/catch.h"

namespace wam::test {

WamConfig config_of(const GoldenFile& file) {
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
  c.hidden_width = size("hidden_size");
  c.action_width = size("action_dim");
  c.state_width = size("max_state_dim");
  c.actions_per_block = size("num_action_per_block");
  c.max_blocks = size("max_chunk_size");
  REQUIRE(size("num_frame_per_block") == WamConfig::kFramesPerBlock);
  REQUIRE(size("in_dim") == c.input_channels());
  return c;
}

std::unique_ptr<NoShard> golden_units(const GoldenFile& file, const Dit& dit, at::ScalarType type) {
  NoShard::Options options;
  options.compute_type = type;
  options.state_type = type == at::kDouble ? at::kDouble : at::kFloat;
  auto out = std::make_unique<NoShard>(dit.units(), options);
  std::size_t used = 0;
  for (Unit& unit : out->units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i, ++used) {
      const at::Tensor value = file.build("param." + unit.spec().tensors[i].name, type);
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

Limits limits_for(at::ScalarType type) {
  if (type == at::kDouble) return {.output = 1e-9, .gradient = 1e-9, .stored_gradient = 2e-7};
  return {.output = 2e-5, .gradient = 5e-5, .stored_gradient = 5e-5};
}

void check_gradients(const GoldenFile& file, NoShard& units, const Limits& limits) {
  for (const Unit& unit : units.units()) {
    for (std::size_t i = 0; i < unit.spec().tensors.size(); ++i) {
      const std::string& name = unit.spec().tensors[i].name;
      const auto error = file.gradient_error(unit.weight_gradient(i), name);
      INFO(file.name() << " gradient of " << name);
      CHECK(error.print < limits.gradient);
      CHECK(error.stored < limits.stored_gradient);
    }
  }
}

}  // namespace wam::test
