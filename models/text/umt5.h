#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/frozen/frozen_weights.h"

namespace wam {

// Source: T5Encoder, Wan2.1 wan/modules/t5.py @ 9737cba, umt5_xxl.
struct Umt5Config {
  std::int64_t vocab = 256384;
  std::int64_t dim = 4096;
  std::int64_t attention_dim = 4096;
  std::int64_t feed_forward_dim = 10240;
  std::int64_t num_heads = 64;
  std::int64_t num_layers = 24;
  std::int64_t num_buckets = 32;  // relative positions, both directions
  std::int64_t max_distance = 128;

  static Umt5Config xxl() { return {}; }
  // Two layers of width 64.
  static Umt5Config tiny(std::int64_t vocab);
};

// Every tensor of the published file.
FrozenModel umt5_tensors(const Umt5Config& config);

// Bucket of a key's position minus a query's.
std::int64_t relative_bucket(std::int64_t distance,
                             std::int64_t num_buckets,
                             std::int64_t max_distance);

// The frozen text encoder. Computes in the type and on the device of its weights (never fp16: its
// activations overflow there); no call waits for the device.
//
// B batch · L token · D width · N head · K head width
// Threads: const members may be called from any thread.
class Umt5Encoder {
 public:
  // `weights` as load_frozen(umt5_tensors(config), …) gives them.
  Umt5Encoder(const Umt5Config& config, FrozenWeights weights);

  // ids (B, L) int64, lengths (B) in 1..L: the tokens of each prompt, end of text included. Result
  // (B, L, D), rows past a prompt's length zero. Only the first max(lengths) tokens are computed;
  // each prompt's rows are those that it would have alone at its own length.
  // Errors: InvariantError for lengths that do not fit.
  [[nodiscard]] at::Tensor encode(const at::Tensor& ids_BL,
                                  const std::vector<std::int64_t>& lengths) const;
  [[nodiscard]] const Umt5Config& config() const noexcept { return config_; }

 private:
  [[nodiscard]] at::Tensor run(const at::Tensor& ids_BL,
                               const std::vector<std::int64_t>& lengths) const;
  [[nodiscard]] at::Tensor attention(const std::string& block,
                                     const at::Tensor& x_BLD,
                                     const at::Tensor& bucket_LL,
                                     const at::Tensor& padding_B11L) const;
  [[nodiscard]] at::Tensor feed_forward(const std::string& block, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor linear(const std::string& name, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor norm(const std::string& name, const at::Tensor& x_BLD) const;
  [[nodiscard]] at::Tensor bucket_table(std::int64_t length) const;

  Umt5Config config_;
  FrozenWeights weights_;
  at::ScalarType type_;
  at::Device device_;
};

}  // namespace wam
