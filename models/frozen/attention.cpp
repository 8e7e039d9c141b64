#include "models/frozen/attention.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>

#include "core/ops/parameter.h"

namespace wam {
namespace {

constexpr std::int64_t kMaxScores = std::int64_t{1} << 26;

at::Tensor scores(const at::Tensor& q_RLK, const at::Tensor& k_RLK, double scale) {
  const at::Tensor k_RKL = k_RLK.transpose(1, 2);
  if (q_RLK.is_cuda() && q_RLK.scalar_type() == at::kBFloat16) {
    // Products of bf16 numbers are exact in fp32: the tensor cores give what fp32 operands would.
    return at::bmm(q_RLK, k_RKL, at::kFloat).mul_(scale);
  }
  const at::ScalarType wide = accumulate_type(q_RLK.scalar_type());
  // `to` returns q itself where it is wide already: mul, not mul_.
  return q_RLK.to(wide).mul(scale).bmm(k_RKL.to(wide));
}

at::Tensor piece_attention(const at::Tensor& q_RLK,
                           const at::Tensor& k_RLK,
                           const at::Tensor& v_RLK,
                           double scale) {
  return scores(q_RLK, k_RLK, scale).softmax(-1).to(v_RLK.scalar_type()).bmm(v_RLK);
}

}  // namespace

at::Tensor frozen_attention(const at::Tensor& q_RLK,
                            const at::Tensor& k_RLK,
                            const at::Tensor& v_RLK,
                            double scale) {
  const std::int64_t rows = q_RLK.size(0);
  const std::int64_t tokens = q_RLK.size(1);
  const std::int64_t piece = std::max<std::int64_t>(1, kMaxScores / (tokens * tokens));
  if (piece >= rows) return piece_attention(q_RLK, k_RLK, v_RLK, scale);
  std::vector<at::Tensor> out;
  for (std::int64_t first = 0; first < rows; first += piece) {
    const std::int64_t end = std::min(rows, first + piece);
    out.push_back(piece_attention(q_RLK.slice(0, first, end), k_RLK.slice(0, first, end),
                                  v_RLK.slice(0, first, end), scale));
  }
  return at::cat(out);
}

}  // namespace wam
