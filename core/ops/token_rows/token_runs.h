#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace wam {

struct TokenRows;

// A TokenRows as kernels read it, on the device: runs of at most kRunTokens (run_kernel.h)
// consecutive tokens that use one row, in the order of their rows and, within a row, of their
// tokens. Made once for a shape and shared by every call; sums over the tokens of a row add its
// runs in that order.
struct TokenRuns {
  at::Tensor run_C3;      // int32: first token, number of tokens, row
  at::Tensor row_run_R1;  // int32 (rows + 1): the runs of row r are [row_run[r], row_run[r + 1])

  [[nodiscard]] bool defined() const { return run_C3.defined(); }
  [[nodiscard]] std::int64_t runs() const { return run_C3.size(0); }
  [[nodiscard]] std::int64_t rows() const { return row_run_R1.size(0) - 1; }
};

// `num_rows`: of the table. Errors: InvariantError when a token has no row of it.
TokenRuns token_runs(const TokenRows& rows, std::int64_t num_rows, at::Device device);

}  // namespace wam
