#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/layer_norm/layer_norm.h"
#include "models/wam/recompute.h"

namespace wam {

// B batch · L token · D width · N head · K head width · M context token

// Keys and values of one context of cross attention.
struct ContextSaved {
  at::Tensor k_in, v;  // (B, M, D): two parts of one product
  at::Tensor rstd, k;  // of the key norm, and after it
  at::Tensor out, lse;
};

// Every intermediate value that a block's backward reads, or builds others from, in the order of
// the forward.
struct BlockSaved {
  // self attention
  NormStatistics norm1;
  at::Tensor u1;             // (B, L, D)
  at::Tensor q_in, k_in, v;  // before q/k norm; parts of one product
  at::Tensor q_rstd, k_rstd;
  at::Tensor q, k;       // (B, L, N, K)
  at::Tensor attention;  // (B, L, D)
  at::Tensor lse;        // all calls, one after the other
  at::Tensor y1;         // after o, before the gate
  at::Tensor x1;
  // cross attention
  NormStatistics norm3;
  at::Tensor u2, cross_q_in, cross_q_rstd, cross_q;
  ContextSaved text, image;
  at::Tensor cross;  // sum of both attentions
  at::Tensor y2;     // after o: backward reads it only to build x2 again
  at::Tensor x2;
  // feed-forward
  NormStatistics norm2;
  at::Tensor u3, h, g;  // h before, g after GELU
  at::Tensor y3;
};

// Drops what `policy` does not keep.
void drop(RecomputePolicy policy, BlockSaved& saved);

// Sizes of a block, for the bytes of the table. All counts are of one micro-batch.
struct BlockExtents {
  std::int64_t inputs = 0;   // tokens that go in
  std::int64_t results = 0;  // and that come out
  std::int64_t queries = 0;
  std::int64_t lse_rows = 0;  // calls of self attention x their longest queries
  std::int64_t text_tokens = 0;
  std::int64_t image_tokens = 0;
  std::int64_t width = 0;
  std::int64_t ffn_width = 0;
  std::int64_t heads = 0;
  std::int64_t element_bytes = 2;
  std::int64_t statistic_bytes = 4;
};

// One line of the table: a tensor and its bytes.
struct SavedBytes {
  std::string name;
  std::int64_t bytes = 0;
};
std::vector<SavedBytes> saved_bytes(RecomputePolicy policy, const BlockExtents& extents);
// What `saved` holds, by the same names.
std::vector<SavedBytes> saved_bytes(const BlockSaved& saved);

}  // namespace wam
