#include "core/base/lru_cache.h"

#include "test/support/catch.h"

namespace wam::test {
namespace {

using Cache = LruCache<int, const int>;

// The value of `key`, made with `cost` on a miss; counts the misses.
std::shared_ptr<const int> fetch(Cache& cache, int key, std::size_t cost, int& misses) {
  return cache.get(key, [&] {
    ++misses;
    return Cache::Made{std::make_shared<const int>(key * 10), cost};
  });
}

}  // namespace

TEST_CASE("LruCache drops the longest unused first and stays within its capacity") {
  Cache cache(10);
  int misses = 0;
  CHECK(*fetch(cache, 1, 4, misses) == 10);
  CHECK(*fetch(cache, 2, 4, misses) == 20);
  static_cast<void>(fetch(cache, 1, 4, misses));  // 2 is now the oldest
  static_cast<void>(fetch(cache, 3, 4, misses));
  CHECK(misses == 3);
  CHECK(cache.cost() == 8);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.find(1) != nullptr);
  CHECK(cache.find(3) != nullptr);
}

TEST_CASE("LruCache hands out a value that is larger than itself and keeps what it has") {
  Cache cache(10);
  int misses = 0;
  static_cast<void>(fetch(cache, 1, 4, misses));
  CHECK(*fetch(cache, 2, 11, misses) == 20);
  CHECK(cache.size() == 1);
  CHECK(cache.find(1) != nullptr);
}

TEST_CASE("LruCache: a value in use outlives its removal") {
  Cache cache(1);
  int misses = 0;
  const auto held = fetch(cache, 1, 1, misses);
  static_cast<void>(fetch(cache, 2, 1, misses));
  CHECK(cache.find(1) == nullptr);
  CHECK(*held == 10);
}

}  // namespace wam::test
