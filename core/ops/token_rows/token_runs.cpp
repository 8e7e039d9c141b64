#include "core/ops/token_rows/token_runs.h"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty.h>

#include "core/base/errors.h"
#include "core/ops/token_rows/run_kernel.h"
#include "core/ops/token_rows/token_rows.h"

namespace wam {
namespace {

struct Run {
  std::int32_t first;
  std::int32_t tokens;
  std::int32_t row;
};

std::vector<Run> sorted_runs(const TokenRows& rows) {
  const at::Tensor row_L = row_of_token(rows);
  const auto* row = row_L.const_data_ptr<std::int64_t>();
  std::vector<Run> runs;
  for (std::int64_t l = 0; l < rows.tokens; ++l) {
    if (!runs.empty() && runs.back().row == row[l] && runs.back().tokens < kRunTokens) {
      ++runs.back().tokens;
    } else {
      runs.push_back({static_cast<std::int32_t>(l), 1, static_cast<std::int32_t>(row[l])});
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.row < b.row; });
  return runs;
}

}  // namespace

TokenRuns token_runs(const TokenRows& rows, std::int64_t num_rows, at::Device device) {
  const std::vector<Run> runs = sorted_runs(rows);
  invariant(runs.empty() || (runs.front().row >= 0 && runs.back().row < num_rows),
            "a token uses no row of the table");
  const auto num_runs = static_cast<std::int64_t>(runs.size());
  at::Tensor run_C3 = at::empty({num_runs, 3}, at::kInt);
  at::Tensor row_run_R1 = at::empty({num_rows + 1}, at::kInt);
  auto* run = run_C3.mutable_data_ptr<std::int32_t>();
  auto* row_run = row_run_R1.mutable_data_ptr<std::int32_t>();
  std::fill(row_run, row_run + num_rows + 1, 0);
  for (const Run& r : runs) {
    *run++ = r.first;
    *run++ = r.tokens;
    *run++ = r.row;
    ++row_run[r.row + 1];
  }
  for (std::int64_t r = 0; r < num_rows; ++r) row_run[r + 1] += row_run[r];
  return {run_C3.to(device), row_run_R1.to(device)};
}

}  // namespace wam
