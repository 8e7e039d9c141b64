#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// out = softmax(scale * q k^T + key_bias) v for each head, without mask or dropout.
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, eq. 1; backward from the log-sum-exp as in Dao
//         et al. 2022, arXiv:2205.14135, algorithm 4.
// Shape:  q, out (B, L, N, K); k, v (B, M, N, K), any strides with K innermost and contiguous;
//         key_bias (M) in the accumulate type, or undefined; lse (B, N, L) in the
//         accumulate type.
// Types:  softmax and sums in the accumulate type, out rounds once.
// Deterministic: equal inputs give equal bits.
class AttentionEngine;
struct AttentionOptions {
  double scale = 1.0;
  // Added to the scores of a key. A key that stands for n equal keys has the bias log(n).
  at::Tensor key_bias_M;
  // Who computes it; null: the plain form, on any device and in any type.
  AttentionEngine* engine = nullptr;
};

// Writes `out` and the log-sum-exp of the scores.
void attention_forward(const at::Tensor& q_BLNK,
                       const at::Tensor& k_BMNK,
                       const at::Tensor& v_BMNK,
                       const AttentionOptions& options,
                       const at::Tensor& out_BLNK,
                       const at::Tensor& lse_BNL);

// Where the backward writes, in any float type and with any strides.
struct AttentionGradients {
  at::Tensor dq_BLNK;
  at::Tensor dk_BMNK;
  at::Tensor dv_BMNK;
};

void attention_backward(const at::Tensor& dout_BLNK,
                        const at::Tensor& q_BLNK,
                        const at::Tensor& k_BMNK,
                        const at::Tensor& v_BMNK,
                        const at::Tensor& out_BLNK,
                        const at::Tensor& lse_BNL,
                        const AttentionOptions& options,
                        const AttentionGradients& gradients);

// One sequence of a group: in every sample, queries [query_begin, query_begin + queries) of q see
// exactly keys [key_begin, key_begin + keys) of k.
struct AttentionSequence {
  std::int64_t query_begin = 0;
  std::int64_t queries = 0;
  std::int64_t key_begin = 0;
  std::int64_t keys = 0;

  bool operator==(const AttentionSequence&) const = default;
};

// A faster implementation, held to the plain form by a test. It keeps what it prepared for a shape,
// so it is an object with an owner (the model).
class AttentionEngine {
 public:
  AttentionEngine() = default;
  AttentionEngine(const AttentionEngine&) = delete;
  AttentionEngine& operator=(const AttentionEngine&) = delete;
  AttentionEngine(AttentionEngine&&) = delete;
  AttentionEngine& operator=(AttentionEngine&&) = delete;
  virtual ~AttentionEngine() = default;

  virtual void forward(const at::Tensor& q_BLNK,
                       const at::Tensor& k_BMNK,
                       const at::Tensor& v_BMNK,
                       const AttentionOptions& options,
                       const at::Tensor& out_BLNK,
                       const at::Tensor& lse_BNL) = 0;
  virtual void backward(const at::Tensor& dout_BLNK,
                        const at::Tensor& q_BLNK,
                        const at::Tensor& k_BMNK,
                        const at::Tensor& v_BMNK,
                        const at::Tensor& out_BLNK,
                        const at::Tensor& lse_BNL,
                        const AttentionOptions& options,
                        const AttentionGradients& gradients) = 0;

  // All sequences of a group in one call. lse (B, S, N, longest queries), contiguous: each
  // sequence's first values are filled.
  virtual void forward_group(const std::vector<AttentionSequence>& sequences,
                             const at::Tensor& q_BLNK,
                             const at::Tensor& k_BMNK,
                             const at::Tensor& v_BMNK,
                             const AttentionOptions& options,
                             const at::Tensor& out_BLNK,
                             const at::Tensor& lse_BSNL) = 0;
  virtual void backward_group(const std::vector<AttentionSequence>& sequences,
                              const at::Tensor& dout_BLNK,
                              const at::Tensor& q_BLNK,
                              const at::Tensor& k_BMNK,
                              const at::Tensor& v_BMNK,
                              const at::Tensor& out_BLNK,
                              const at::Tensor& lse_BSNL,
                              const AttentionOptions& options,
                              const AttentionGradients& gradients) = 0;
};

// The engine for this device and type; null where the plain form serves (any type but bf16, and the
// CPU).
std::unique_ptr<AttentionEngine> make_attention_engine(at::Device device,
                                                       at::ScalarType type,
                                                       bool deterministic);

}  // namespace wam
