#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "models/text/umt5.h"

namespace wam {

Umt5Config Umt5Config::tiny(std::int64_t vocab) {
  return {.vocab = vocab,
          .dim = 64,
          .attention_dim = 64,
          .feed_forward_dim = 160,
          .num_heads = 4,
          .num_layers = 2,
          .num_buckets = 32,
          .max_distance = 128};
}

// The spread of random weights is that of the published initialisation (init_weights of the
// source).
FrozenModel umt5_tensors(const Umt5Config& config) {
  const auto root = [](std::int64_t n) { return 1.0 / std::sqrt(static_cast<double>(n)); };
  const std::int64_t dim = config.dim;
  const std::int64_t inner = config.attention_dim;
  const std::int64_t wide = config.feed_forward_dim;
  FrozenModel out{.what = "UMT5 text encoder", .tensors = {}, .ignored_prefixes = {}};
  const auto add = [&](std::string name, std::vector<std::int64_t> shape, double mean, double std) {
    out.tensors.push_back({std::move(name), std::move(shape), mean, std});
  };
  add("token_embedding.weight", {config.vocab, dim}, 0, 1);
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    add(block + "norm1.weight", {dim}, 1, 0);
    add(block + "attn.q.weight", {inner, dim}, 0, root(dim * (inner / config.num_heads)));
    add(block + "attn.k.weight", {inner, dim}, 0, root(dim));
    add(block + "attn.v.weight", {inner, dim}, 0, root(dim));
    add(block + "attn.o.weight", {dim, inner}, 0, root(inner));
    add(block + "norm2.weight", {dim}, 1, 0);
    add(block + "ffn.gate.0.weight", {wide, dim}, 0, root(dim));
    add(block + "ffn.fc1.weight", {wide, dim}, 0, root(dim));
    add(block + "ffn.fc2.weight", {dim, wide}, 0, root(wide));
    add(block + "pos_embedding.embedding.weight", {config.num_buckets, config.num_heads}, 0,
        root(2 * config.num_buckets * config.num_heads));
  }
  add("norm.weight", {dim}, 1, 0);
  return out;
}

std::int64_t relative_bucket(std::int64_t distance,
                             std::int64_t num_buckets,
                             std::int64_t max_distance) {
  const std::int64_t half = num_buckets / 2;
  const std::int64_t exact = half / 2;
  const std::int64_t base = distance > 0 ? half : 0;
  const std::int64_t n = std::abs(distance);
  if (n < exact) return base + n;
  // The logarithm's whole values must not fall short by rounding: 1e-9 is far below the distance to
  // the next quotient of integers.
  const double growth = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                        std::log(static_cast<double>(max_distance) / static_cast<double>(exact)) *
                        static_cast<double>(half - exact);
  return base + std::min(half - 1, exact + static_cast<std::int64_t>(growth + 1e-9));
}

}  // namespace wam
