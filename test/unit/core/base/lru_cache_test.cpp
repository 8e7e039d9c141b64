#include "core/base/lru_cache.h"

#include "test/support/catch.h"

namespace wam {
namespace {

using Cache = LruCache<int, int>;

Cache::Made made(int value, std::size_t cost = 1) {
  return {.value = std::make_shared<int>(value), .cost = cost};
}

TEST_CASE("A cache makes a value once and forgets the longest unused") {
  Cache cache(3);
  int calls = 0;
  const auto get = [&](int key) {
    return *cache.get(key, [&] {
      ++calls;
      return made(key * 10);
    });
  };
  CHECK(get(1) == 10);
  CHECK(get(1) == 10);
  CHECK(calls == 1);
  get(2);
  get(3);
  get(1);  // now 2 is the longest unused
  get(4);
  CHECK(cache.find(2) == nullptr);
  CHECK(cache.find(1) != nullptr);
  CHECK(cache.size() == 3);
}

TEST_CASE("Costs are summed, what is too large is handed out and not kept") {
  Cache cache(10);
  cache.get(1, [] { return made(1, 6); });
  cache.get(2, [] { return made(2, 4); });
  CHECK(cache.cost() == 10);
  const auto huge = cache.get(3, [] { return made(3, 11); });
  CHECK(*huge == 3);
  CHECK(cache.size() == 2);
  const auto held = cache.find(1);
  cache.get(4, [] { return made(4, 10); });
  CHECK(cache.size() == 1);
  CHECK(*held == 1);  // in use, it outlives its removal
}

}  // namespace
TEST_CASE("LruCache: a cheap value counts as the least cost") {
  Cache cache(10, 5);
  for (const int key : {0, 1, 2}) cache.get(key, [&] { return made(key, 1); });
  CHECK(cache.size() == 2);
  CHECK(cache.cost() == 10);
  CHECK(cache.find(0) == nullptr);
}

}  // namespace wam
