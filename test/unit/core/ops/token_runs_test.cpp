#include "core/ops/token_rows/token_runs.h"

#include <cstdint>
#include <set>
#include <vector>

#include "core/base/errors.h"
#include "core/ops/token_rows/run_kernel.h"
#include "core/ops/token_rows/token_rows.h"
#include "test/support/catch.h"

namespace wam::test {
namespace {

std::vector<std::int32_t> numbers(const at::Tensor& t) {
  const auto* p = t.const_data_ptr<std::int32_t>();
  return {p, p + t.numel()};
}

// Row 0 from two groups, row 1 of ten tokens, rows 2 and 3 of one token each in two places, and
// row 4, which no token uses.
TokenRows example() {
  return {.tokens = 22,
          .groups = {{.begin = 0, .inner = 5},
                     {.begin = 5, .inner = 10, .row_begin = 1},
                     {.begin = 15, .inner = 2, .row_begin = 2, .row_inner_stride = 1},
                     {.begin = 17,
                      .outer = 2,
                      .outer_stride = 1,
                      .inner = 1,
                      .row_begin = 2,
                      .row_outer_stride = 1},
                     {.begin = 19, .inner = 3}}};
}

}  // namespace

TEST_CASE("Token runs: in the order of rows, then of tokens, short, every token once") {
  const TokenRuns runs = token_runs(example(), 5, at::kCPU);

  REQUIRE(kRunTokens == 4);
  CHECK(numbers(runs.run_C3) == std::vector<std::int32_t>{0,  4, 0, 4,  1, 0, 19, 3, 0,  //
                                                          5,  4, 1, 9,  4, 1, 13, 2, 1,  //
                                                          15, 1, 2, 17, 1, 2,            //
                                                          16, 1, 3, 18, 1, 3});
  CHECK(numbers(runs.row_run_R1) == std::vector<std::int32_t>{0, 3, 6, 8, 10, 10});
  CHECK(runs.runs() == 10);
  CHECK(runs.rows() == 5);
}

TEST_CASE("Token runs: a row that the table does not have is an error") {
  CHECK_THROWS_AS(token_runs(example(), 3, at::kCPU), InvariantError);
  CHECK_THROWS_AS(token_runs({.tokens = 2, .groups = {{.inner = 1}}}, 3, at::kCPU), InvariantError);
}

TEST_CASE("Token runs: a sequence without tokens has none") {
  const TokenRuns runs = token_runs({.tokens = 0, .groups = {}}, 2, at::kCPU);
  CHECK(runs.runs() == 0);
  CHECK(numbers(runs.row_run_R1) == std::vector<std::int32_t>{0, 0, 0});
}

TEST_CASE("Token rows for the CPU are without runs") {
  CHECK_FALSE(rows_for(at::kCPU, example(), 5).runs.defined());
}

TEST_CASE("Run split: blocks take all runs, and partial sums of a row have slots in a row") {
  const TokenRuns runs = token_runs(example(), 5, at::kCPU);
  const std::vector<std::int32_t> run = numbers(runs.run_C3);
  for (const std::int64_t batch : {1, 2, 3, 7, 264, 1000}) {
    const RunWork work{.batch = batch, .rows = runs.rows(), .runs = runs.runs()};
    const RunSplit split = split_runs(work, 12);
    CHECK(split.blocks * split.runs_per_block >= work.runs);
    CHECK((split.blocks - 1) * split.runs_per_block < work.runs);
    CHECK((batch > 12 || split.blocks * batch <= 12));
    // As a block leaves its sums: one slot for each row that it meets.
    std::set<std::int64_t> taken;
    std::int64_t last = -1;
    for (std::int64_t c = 0; c < work.runs; ++c) {
      const std::int64_t row = run[static_cast<std::size_t>(3 * c + 2)];
      const std::int64_t slot = c / split.runs_per_block + row;
      CHECK((slot == last || taken.count(slot) == 0));
      taken.insert(slot);
      last = slot;
    }
    CHECK(*taken.rbegin() < split.slots);
  }
}

TEST_CASE("Run split: nothing to do, no blocks") {
  CHECK(split_runs({.batch = 2, .rows = 3, .runs = 0}, 264).blocks == 0);
  CHECK(split_runs({.batch = 0, .rows = 3, .runs = 5}, 264).slots == 0);
}

}  // namespace wam::test
