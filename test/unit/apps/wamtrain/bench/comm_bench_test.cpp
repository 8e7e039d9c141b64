#include "apps/wamtrain/bench/comm_bench.h"

#include "test/support/catch.h"

namespace wam {

TEST_CASE("bench comm: sizes go from 1 MiB in steps of four to the largest") {
  constexpr std::int64_t kMiB = 1024 * 1024;
  CHECK(transfer_sizes(20 * kMiB) ==
        std::vector<std::int64_t>{kMiB, 4 * kMiB, 16 * kMiB, 20 * kMiB});
  CHECK(transfer_sizes(16 * kMiB) == std::vector<std::int64_t>{kMiB, 4 * kMiB, 16 * kMiB});
  CHECK(transfer_sizes(1000) == std::vector<std::int64_t>{1000});
}

}  // namespace wam
