#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "models/vision/clip_tower.h"

namespace wam {
namespace {

// Positions must show in random features: the patches have a spread near 1.
constexpr double kRandomPositionStd = 0.5;
constexpr double kRandomBiasStd = 0.02;

}  // namespace

ClipConfig ClipConfig::tiny() {
  return {.image_size = 224,
          .patch_size = 14,
          .dim = 64,
          .feed_forward_dim = 256,
          .num_heads = 4,
          .num_layers = 2,
          .out_dim = 32};
}

FrozenModel clip_tensors(const ClipConfig& config) {
  const auto root = [](std::int64_t n) { return 1.0 / std::sqrt(static_cast<double>(n)); };
  const std::int64_t dim = config.dim;
  const std::int64_t wide = config.feed_forward_dim;
  FrozenModel out{.what = "CLIP image tower", .tensors = {}, .ignored_prefixes = {"textual."}};
  bool needed = true;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, double mean,
                       double std) {
    out.tensors.push_back({name, std::move(shape), mean, std, needed});
  };
  const auto add_linear = [&](const std::string& name, std::int64_t to, std::int64_t from) {
    add(name + ".weight", {to, from}, 0, root(from));
    add(name + ".bias", {to}, 0, kRandomBiasStd);
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {dim}, 1, 0);
    add(name + ".bias", {dim}, 0, 0);
  };
  add("visual.cls_embedding", {1, 1, dim}, 0, kRandomPositionStd);
  add("visual.pos_embedding", {1, config.tokens(), dim}, 0, kRandomPositionStd);
  add("visual.patch_embedding.weight", {dim, 3, config.patch_size, config.patch_size}, 0,
      root(3 * config.patch_size * config.patch_size));
  add_norm("visual.pre_norm");
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    needed = i + 1 < config.num_layers;
    const std::string block = fmt::format("visual.transformer.{}.", i);
    add_norm(block + "norm1");
    add_linear(block + "attn.to_qkv", 3 * dim, dim);
    add_linear(block + "attn.proj", dim, dim);
    add_norm(block + "norm2");
    add_linear(block + "mlp.0", wide, dim);
    add_linear(block + "mlp.2", dim, wide);
  }
  needed = false;
  add_norm("visual.post_norm");
  add("visual.head", {dim, config.out_dim}, 0, root(dim));
  // ln(1 / 0.07), as CLIP starts.
  add("log_scale", {}, std::log(1.0 / 0.07), 0);
  return out;
}

}  // namespace wam
