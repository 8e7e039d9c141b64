#include "models/wam/parameters.h"

#include <fmt/format.h>

namespace wam {
namespace {

// Collects tensors under a prefix.
class Tensors {
 public:
  explicit Tensors(std::string prefix) : prefix_(std::move(prefix)) {}

  void add(const std::string& name, std::vector<std::int64_t> shape, bool is_layer_norm = false) {
    TensorSpec spec;
    spec.name = prefix_ + name;
    spec.shape = std::move(shape);
    spec.decayed = !is_layer_norm && spec.name.find("bias") == std::string::npos;
    tensors_.push_back(std::move(spec));
  }
  void linear(const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  // Square maps of one input: weights first, then biases, so that one product sees them all.
  void joint_linear(const std::string& prefix,
                    const std::vector<std::string>& names,
                    std::int64_t width) {
    for (const auto& name : names) add(prefix + name + ".weight", {width, width});
    for (const auto& name : names) add(prefix + name + ".bias", {width});
  }
  void layer_norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width}, true);
    add(name + ".bias", {width}, true);
  }
  // An affine map of one embodiment category.
  void category(const std::string& weight,
                const std::string& bias,
                std::int64_t in,
                std::int64_t out) {
    add(weight, {1, in, out});
    add(bias, {1, out});
  }
  std::vector<TensorSpec> take() { return std::move(tensors_); }

 private:
  std::string prefix_;
  std::vector<TensorSpec> tensors_;
};

}  // namespace

std::vector<TensorSpec> embedding_tensors(const WamConfig& c) {
  Tensors t("");
  t.add("patch_embedding.weight", {c.width, c.input_channels(), 1, 2, 2});
  t.add("patch_embedding.bias", {c.width});
  t.linear("text_embedding.0", c.text_width, c.width);
  t.linear("text_embedding.2", c.width, c.width);
  t.linear("time_embedding.0", c.frequency_width, c.width);
  t.linear("time_embedding.2", c.width, c.width);
  t.linear("time_projection.1", c.width, 6 * c.width);
  t.layer_norm("img_emb.proj.0", c.clip_width);
  t.linear("img_emb.proj.1", c.clip_width, c.clip_width);
  t.linear("img_emb.proj.3", c.clip_width, c.width);
  t.layer_norm("img_emb.proj.4", c.width);
  t.category("state_encoder.layer1.W", "state_encoder.layer1.b", c.state_width, c.hidden_width);
  t.category("state_encoder.layer2.W", "state_encoder.layer2.b", c.hidden_width, c.width);
  t.category("action_encoder.W1.W", "action_encoder.W1.b", c.action_width, c.width);
  t.category("action_encoder.W2.W", "action_encoder.W2.b", 2 * c.width, c.width);
  t.category("action_encoder.W3.W", "action_encoder.W3.b", c.width, c.width);
  return t.take();
}

std::vector<TensorSpec> block_tensors(const WamConfig& c, std::int64_t block_idx) {
  Tensors t(fmt::format("blocks.{}.", block_idx));
  t.add("modulation", {1, 6, c.width});
  t.joint_linear("self_attn.", {"q", "k", "v"}, c.width);
  t.linear("self_attn.o", c.width, c.width);
  t.add("self_attn.norm_q.weight", {c.width});
  t.add("self_attn.norm_k.weight", {c.width});
  t.layer_norm("norm3", c.width);
  t.linear("cross_attn.q", c.width, c.width);
  t.joint_linear("cross_attn.", {"k", "v"}, c.width);
  t.linear("cross_attn.o", c.width, c.width);
  t.add("cross_attn.norm_q.weight", {c.width});
  t.add("cross_attn.norm_k.weight", {c.width});
  t.joint_linear("cross_attn.", {"k_img", "v_img"}, c.width);
  t.add("cross_attn.norm_k_img.weight", {c.width});
  t.linear("ffn.0", c.width, c.ffn_width);
  t.linear("ffn.2", c.ffn_width, c.width);
  return t.take();
}

std::vector<TensorSpec> head_tensors(const WamConfig& c) {
  Tensors t("");
  t.add("head.modulation", {1, 2, c.width});
  t.linear("head.head", c.width, 4 * c.latent_channels);
  t.category("action_decoder.layer1.W", "action_decoder.layer1.b", c.width, c.hidden_width);
  t.category("action_decoder.layer2.W", "action_decoder.layer2.b", c.hidden_width, c.action_width);
  return t.take();
}

std::vector<UnitSpec> wam_units(const WamConfig& config) {
  std::vector<UnitSpec> units;
  units.push_back(make_unit("embeddings", embedding_tensors(config)));
  for (std::int64_t i = 0; i < config.layers; ++i) {
    units.push_back(make_unit(fmt::format("blocks.{}", i), block_tensors(config, i)));
  }
  units.push_back(make_unit("head", head_tensors(config)));
  units.front().held_throughout = true;
  units.back().held_throughout = true;
  return units;
}

Parameter UnitParameters::parameter(const std::string& name) const {
  const std::size_t idx = unit_.spec().index_of(prefix_ + name);
  Parameter out{.value = unit_.weight(idx), .gradient = {}};
  if (with_gradients_ == WithGradients::kYes) out.gradient = unit_.weight_gradient(idx);
  return out;
}

Linear UnitParameters::linear(const std::string& name) const {
  return {.weight = parameter(name + ".weight"), .bias = parameter(name + ".bias")};
}

LayerNorm UnitParameters::layer_norm(const std::string& name) const {
  return {.weight = parameter(name + ".weight"), .bias = parameter(name + ".bias")};
}

BlockParameters::BlockParameters(const Unit& unit,
                                 std::int64_t block_idx,
                                 WithGradients with_gradients) {
  const UnitParameters p(unit, fmt::format("blocks.{}.", block_idx), with_gradients);
  const auto attention = [&](const std::string& name) {
    return Attention{.q = p.linear(name + ".q"),
                     .k = p.linear(name + ".k"),
                     .v = p.linear(name + ".v"),
                     .o = p.linear(name + ".o"),
                     .norm_q = p.parameter(name + ".norm_q.weight"),
                     .norm_k = p.parameter(name + ".norm_k.weight")};
  };
  modulation = p.parameter("modulation");
  self = attention("self_attn");
  norm3 = p.layer_norm("norm3");
  cross = attention("cross_attn");
  k_img = p.linear("cross_attn.k_img");
  v_img = p.linear("cross_attn.v_img");
  norm_k_img = p.parameter("cross_attn.norm_k_img.weight");
  ffn_up = p.linear("ffn.0");
  ffn_down = p.linear("ffn.2");
}

}  // namespace wam
