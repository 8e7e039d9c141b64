#include "core/ops/token_rows/run_launch.h"

#include <limits>

#include <fmt/ranges.h>

#include "core/base/errors.h"
#include "core/cuda/tensor_kernel.h"

namespace wam {
namespace {

constexpr std::int64_t kMostGrid = 65535;  // blocks in a grid's second or third dimension

template <class T>
Rows<T> view_of(const at::Tensor& x, T* data) {
  if (x.dim() == 1) return {.data = data};
  return {.data = data, .batch_stride = x.stride(0), .row_stride = x.stride(1)};
}

RunWork work_of(const at::Tensor& x_BLD) {
  require<InvariantError>(x_BLD.dim() == 3 && x_BLD.size(0) <= kMostGrid &&
                              x_BLD.size(1) <= std::numeric_limits<std::int32_t>::max(),
                          "kernel over tokens: shape {}, expected (B, L, D) with B at most {}",
                          fmt::join(x_BLD.sizes(), "x"), kMostGrid);
  return {.batch = x_BLD.size(0), .tokens = x_BLD.size(1), .width = x_BLD.size(2)};
}

}  // namespace

RunWork run_work(const at::Tensor& x_BLD, const TokenRows& rows, std::int64_t num_rows) {
  invariant(rows.runs.defined() && rows.runs.run_C3.device() == x_BLD.device(),
            "token rows on a GPU without their runs: make them with rows_for");
  invariant(rows.tokens == x_BLD.size(1) && rows.runs.rows() == num_rows && num_rows <= kMostGrid,
            "token rows of another sequence or table");
  RunWork work = work_of(x_BLD);
  work.run_C3 = rows.runs.run_C3.const_data_ptr<std::int32_t>();
  work.row_run_R1 = rows.runs.row_run_R1.const_data_ptr<std::int32_t>();
  work.rows = num_rows;
  work.runs = rows.runs.runs();
  return work;
}

RunWork one_row_work(const at::Tensor& x_BLD) {
  RunWork work = work_of(x_BLD);
  work.runs = (work.tokens + kRunTokens - 1) / kRunTokens;
  return work;
}

RowsIn rows_in(const at::Tensor& x, const at::Tensor& like, const char* name) {
  require<InvariantError>(x.scalar_type() == like.scalar_type() && x.device() == like.device() &&
                              x.size(-1) == like.size(-1) && (x.dim() == 1 || x.dim() == 3),
                          "kernel argument {} of shape {}: type, device or width differ", name,
                          fmt::join(x.sizes(), "x"));
  check_vector_rows(x, name);
  return view_of(x, x.const_data_ptr());
}

Rows<float> sums_of(const at::Tensor& sum, std::int64_t width, const char* name) {
  if (!sum.defined()) return {};
  require<InvariantError>(sum.scalar_type() == at::kFloat && sum.size(-1) == width &&
                              (sum.dim() == 1 || sum.dim() == 3) && sum.stride(-1) == 1,
                          "kernel argument {} of shape {}: expected fp32, width {} and a "
                          "contiguous last dimension",
                          name, fmt::join(sum.sizes(), "x"), width);
  return view_of(sum, sum.mutable_data_ptr<float>());
}

}  // namespace wam
