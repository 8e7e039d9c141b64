#include "core/random/counter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "test/support/catch.h"

namespace wam {

TEST_CASE("CounterStream gives Philox 4x32-10's published answer for zeros") {
  // Random123's known-answer file: key 0, counter 0. Purpose 0 is not used by the program.
  const CounterStream stream(0, static_cast<Purpose>(0), 0);

  CHECK(stream.bits(0) == 0x6627e8d5);
  CHECK(stream.bits(1) == 0xe169c58d);
  CHECK(stream.bits(2) == 0xbc57ac4c);
  CHECK(stream.bits(3) == 0x9b00dbd8);
}

TEST_CASE("CounterStream: normals have the moments of a normal and depend on the index alone") {
  const CounterStream stream(42, Purpose::kVideoNoise, 7);
  constexpr std::int64_t kCount = 100000;
  std::vector<float> all(kCount);
  stream.normals(all.data(), kCount);

  double sum = 0;
  double squares = 0;
  for (const float v : all) {
    sum += v;
    squares += double{v} * v;
  }
  CHECK(std::abs(sum / kCount) < 0.02);
  CHECK(squares / kCount == Approx(1.0).margin(0.02));
  std::vector<float> part(100);
  stream.normals(part.data(), 100, 41);
  CHECK(std::equal(part.begin(), part.end(), all.begin() + 41));
}

TEST_CASE("CounterStream: another seed, purpose or ordinal gives other draws") {
  const CounterStream base(1, Purpose::kTimestep, 5);

  CHECK(base.bits(0) != CounterStream(2, Purpose::kTimestep, 5).bits(0));
  CHECK(base.bits(0) != CounterStream(1, Purpose::kActionNoise, 5).bits(0));
  CHECK(base.bits(0) != CounterStream(1, Purpose::kTimestep, 6).bits(0));
}

TEST_CASE("Permutation visits every index once, in another order each epoch") {
  for (const std::uint64_t n : {1U, 2U, 3U, 10U, 257U, 1000U}) {
    std::vector<std::uint64_t> seen;
    const Permutation order(n, 42, Purpose::kEpochOrder, 0);
    for (std::uint64_t i = 0; i < n; ++i) seen.push_back(order(i));
    std::vector<std::uint64_t> expected(n);
    std::iota(expected.begin(), expected.end(), 0);
    std::vector<std::uint64_t> sorted = seen;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == expected);
    if (n < 100) continue;
    const Permutation next(n, 42, Purpose::kEpochOrder, 1);
    std::uint64_t same = 0;
    for (std::uint64_t i = 0; i < n; ++i) same += next(i) == seen[i] ? 1U : 0U;
    CHECK(same < n / 10);
  }
}

}  // namespace wam
