#include "data/lerobot/table_store.h"

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>

#include "test/support/catch.h"
#include "test/support/temp_folder.h"
#include "test/unit/data/lerobot/small_set.h"

namespace wam::test {
namespace {

// Above the size from which groups are read in parts: 16 MiB decoded.
constexpr std::int64_t kRows = 800'000;

std::vector<std::int64_t> counted(std::int64_t count, std::int64_t factor) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(factor * i);
  return out;
}

}  // namespace

TEST_CASE("TableStore: any rows of a group of 800,000 are those of the whole column") {
  const TempFolder folder;
  const auto path = folder.path() / "table.parquet";
  write_table(path, {{"narrow", integers(counted(kRows, 3))}, {"vector", float_vectors(kRows, 7)}},
              kRows);
  TableStore store(4, std::size_t{64} << 20U);
  const auto table = store.open(path.string());
  REQUIRE(table->row_starts().size() == 2);
  REQUIRE(table->row_bytes("vector", 0) == 28);
  const at::Tensor whole = table->read("vector", 0)->value_LD;
  for (const auto& [first, rows] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 1}, {0, 300}, {149'790, 10}, {149'000, 200'000}, {777'777, 1}, {kRows - 5, 5}}) {
    INFO("rows from " << first);
    const TableRows part{table, path.string(), first, rows};
    CHECK(at::equal(store.numbers(part, "vector"), whole.narrow(0, first, rows)));
    CHECK(store.numbers(part, "narrow")[0].item<std::int64_t>() == 3 * first);
  }
  const TableRows all{table, path.string(), 0, kRows};
  CHECK(at::equal(store.numbers(all, "vector"), whole));
}

TEST_CASE("TableStore: ragged vectors and null cells are errors in parts of a group, too") {
  const TempFolder folder;
  const auto path = folder.path() / "table.parquet";
  write_table(path, {{"ragged", ragged_lists(6)}, {"null", floats_with_null(6)}}, 1000);
  const ParquetTable table(path);
  CHECK(table.row_bytes("ragged", 0) == 0);  // 9 values in 6 rows
  CHECK_THAT(data_error_of([&] { static_cast<void>(table.read_rows("null", 0, 0, 6)); }),
             Catch::Contains("column 'null'") && Catch::Contains("5 of 6 values"));
  CHECK(table.read_rows("null", 0, 2, 4)->value_LD.size(0) == 2);
}

}  // namespace wam::test
