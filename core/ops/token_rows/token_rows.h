#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/ops/token_rows/token_runs.h"

namespace wam {

// Which row of a table every token of a sequence uses, without a list over tokens.
//
// Token (o, i) of a group stands at begin + o * outer_stride + i and uses row
// row_begin + o * row_outer_stride + i * row_inner_stride, 0 <= o < outer, 0 <= i < inner.
// row_inner_stride is 0 (one row for the inner tokens) or 1 (a row for each).
struct TokenGroup {
  std::int64_t begin = 0;
  std::int64_t outer = 1;
  std::int64_t outer_stride = 0;
  std::int64_t inner = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_outer_stride = 0;
  std::int64_t row_inner_stride = 0;
};

// The groups cover each of the tokens once; several groups may use the same row.
struct TokenRows {
  std::int64_t tokens = 0;
  std::vector<TokenGroup> groups;
  TokenRuns runs{};  // the same for kernels; undefined where none runs
};

// `rows` of a table of `num_rows` rows, ready for `device`: with its runs where kernels run.
TokenRows rows_for(at::Device device, TokenRows rows, std::int64_t num_rows);

// View (B, outer, inner, D) of the group's tokens in x (B, L, D) of any strides.
at::Tensor group_tokens(const at::Tensor& x_BLD, const TokenGroup& group);

// View of the group's rows in table (B, R, D): (B, outer, 1, D), or (B, outer, inner, D) when the
// inner tokens have rows of their own. It broadcasts against group_tokens.
at::Tensor group_rows(const at::Tensor& table_BRD, const TokenGroup& group);

// table[row of token] += values, summed over the tokens of a row in a fixed order.
// values (B, outer, inner, D) in the table's type.
void add_to_group_rows(const at::Tensor& table_BRD,
                       const TokenGroup& group,
                       const at::Tensor& values_BOID);

// The row of every token, (L) int64 on the CPU: for kernels and tests.
at::Tensor row_of_token(const TokenRows& rows);

}  // namespace wam
