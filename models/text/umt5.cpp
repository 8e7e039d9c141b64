#include "models/text/umt5.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <fmt/core.h>

#include "core/base/errors.h"
#include "core/ops/parameter.h"

namespace wam {
namespace {

constexpr double kNormEpsilon = 1e-6;
// Scores of one pass, over batch and heads: 512 MiB in bf16.
constexpr std::int64_t kMaxScores = std::int64_t{1} << 28;

double lowest_finite(at::ScalarType type) {
  if (type == at::kDouble) return std::numeric_limits<double>::lowest();
  if (type == at::kFloat) return double{std::numeric_limits<float>::lowest()};
  return static_cast<double>(static_cast<float>(std::numeric_limits<c10::BFloat16>::lowest()));
}

// (B, 1, 1, L), true where a key is padding; undefined where there is none.
at::Tensor key_padding(const std::vector<std::int64_t>& lengths,
                       std::int64_t longest,
                       at::Device device) {
  const bool any = std::any_of(lengths.begin(), lengths.end(),
                               [&](std::int64_t length) { return length < longest; });
  if (!any) return {};
  const at::Tensor length_B1 = at::tensor(lengths, at::kLong).unsqueeze(1);
  return (at::arange(longest, at::kLong).unsqueeze(0) >= length_B1)
      .unsqueeze(1)
      .unsqueeze(1)
      .to(device);
}

}  // namespace

Umt5Encoder::Umt5Encoder(const Umt5Config& config, FrozenWeights weights)
    : config_(config),
      weights_(std::move(weights)),
      type_(weights_.at("norm.weight").scalar_type()),
      device_(weights_.at("norm.weight").device()) {}

at::Tensor Umt5Encoder::encode(const at::Tensor& ids_BL,
                               const std::vector<std::int64_t>& lengths) const {
  invariant(ids_BL.dim() == 2 && ids_BL.size(0) == static_cast<std::int64_t>(lengths.size()),
            "one length per row of token ids");
  const std::int64_t batch = ids_BL.size(0);
  at::Tensor out_BLD =
      at::zeros({batch, ids_BL.size(1), config_.dim}, at::TensorOptions(device_).dtype(type_));
  if (batch == 0) return out_BLD;
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  invariant(*shortest >= 1 && *longest <= ids_BL.size(1), "a prompt's length is outside 1..L");
  const std::int64_t scores = config_.num_heads * *longest * *longest;
  const std::int64_t prompts = std::max<std::int64_t>(1, kMaxScores / scores);
  for (std::int64_t first = 0; first < batch; first += prompts) {
    const std::int64_t end = std::min(batch, first + prompts);
    const std::vector<std::int64_t> part(lengths.begin() + first, lengths.begin() + end);
    const std::int64_t width = *std::max_element(part.begin(), part.end());
    const at::Tensor ids = ids_BL.slice(0, first, end).slice(1, 0, width).to(device_);
    at::Tensor rows_BLD = run(ids, part);
    const at::Tensor padding_B11L = key_padding(part, width, device_);
    if (padding_B11L.defined()) {
      rows_BLD.masked_fill_(padding_B11L.view({end - first, width, 1}), 0);
    }
    out_BLD.slice(0, first, end).slice(1, 0, width).copy_(rows_BLD);
  }
  return out_BLD;
}

at::Tensor Umt5Encoder::run(const at::Tensor& ids_BL,
                            const std::vector<std::int64_t>& lengths) const {
  const std::int64_t tokens = ids_BL.size(1);
  const at::Tensor bucket_LL = bucket_table(tokens).to(device_);
  const at::Tensor padding_B11L = key_padding(lengths, tokens, device_);
  at::Tensor x_BLD = weights_.at("token_embedding.weight")
                         .index_select(0, ids_BL.flatten())
                         .view({ids_BL.size(0), tokens, config_.dim});
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    x_BLD.add_(attention(block, norm(block + "norm1.weight", x_BLD), bucket_LL, padding_B11L));
    x_BLD.add_(feed_forward(block, norm(block + "norm2.weight", x_BLD)));
  }
  return norm("norm.weight", x_BLD);
}

// No 1 / sqrt(K). Scores, and scores plus bias, are rounded to bf16 as in the source; softmax is
// fp32.
at::Tensor Umt5Encoder::attention(const std::string& block,
                                  const at::Tensor& x_BLD,
                                  const at::Tensor& bucket_LL,
                                  const at::Tensor& padding_B11L) const {
  const std::int64_t batch = x_BLD.size(0);
  const std::int64_t tokens = x_BLD.size(1);
  const auto heads = [&](const char* name) {
    return linear(block + "attn." + name + ".weight", x_BLD)
        .view({batch, tokens, config_.num_heads, -1})
        .transpose(1, 2);
  };
  at::Tensor bias_BNLL = weights_.at(block + "pos_embedding.embedding.weight")
                             .index_select(0, bucket_LL.flatten())
                             .t()
                             .reshape({1, config_.num_heads, tokens, tokens});
  if (padding_B11L.defined()) bias_BNLL = bias_BNLL.masked_fill(padding_B11L, lowest_finite(type_));
  at::Tensor score_BNLL = heads("q").matmul(heads("k").transpose(2, 3));
  score_BNLL.add_(bias_BNLL);
  const at::Tensor weight_BNLL = score_BNLL.softmax(-1, accumulate_type(type_)).to(type_);
  const at::Tensor mixed_BLD =
      weight_BNLL.matmul(heads("v")).transpose(1, 2).reshape({batch, tokens, -1});
  return linear(block + "attn.o.weight", mixed_BLD);
}

at::Tensor Umt5Encoder::feed_forward(const std::string& block, const at::Tensor& x_BLD) const {
  const at::Tensor gate = at::gelu(linear(block + "ffn.gate.0.weight", x_BLD), "tanh");
  return linear(block + "ffn.fc2.weight", linear(block + "ffn.fc1.weight", x_BLD).mul_(gate));
}

at::Tensor Umt5Encoder::linear(const std::string& name, const at::Tensor& x_BLD) const {
  return x_BLD.matmul(weights_.at(name).t());
}

// y = weight * round(x / sqrt(mean(x^2) + eps)); the product is rounded before the weight comes in.
at::Tensor Umt5Encoder::norm(const std::string& name, const at::Tensor& x_BLD) const {
  const at::Tensor wide_BLD = x_BLD.to(accumulate_type(type_));
  const at::Tensor scale_BL1 = (wide_BLD * wide_BLD).mean(-1, true).add_(kNormEpsilon).rsqrt_();
  return (wide_BLD * scale_BL1).to(type_).mul_(weights_.at(name));
}

at::Tensor Umt5Encoder::bucket_table(std::int64_t length) const {
  at::Tensor out_LL = at::empty({length, length}, at::kLong);
  auto* values = out_LL.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t j = 0; j < length; ++j) {
      values[i * length + j] = relative_bucket(j - i, config_.num_buckets, config_.max_distance);
    }
  }
  return out_LL;
}

}  // namespace wam
