#include "data/latent_cache/latent_layout.h"

#include <vector>

#include "test/support/catch.h"

using wam::LatentForm;
using wam::LatentLayout;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

// The 14B's.
LatentForm large_form() {
  return {
      .channels = 16, .rows = 44, .columns = 80, .has_still = true, .tokens = 257, .width = 1280};
}

LatentForm small_form() {
  return {.channels = 2, .rows = 1, .columns = 3, .has_still = false, .tokens = 5, .width = 4};
}

// Every item is in one shard, in order, none longer than the bound.
void check_shards(const LatentLayout& layout) {
  std::int64_t next = 0;
  for (std::size_t i = 0; i < layout.shards().size(); ++i) {
    const auto& place = layout.shards()[i];
    CHECK(place.first == next);
    CHECK(place.items > 0);
    CHECK(layout.bytes_of(i) <= 256 * kMiB);
    CHECK(layout.shard_of(place.first) == i);
    CHECK(layout.shard_of(place.first + place.items - 1) == i);
    next += place.items;
  }
  CHECK(next == layout.items());
}

}  // namespace

TEST_CASE("latent layout: bytes of an item are those of its latents, its still and its tokens") {
  CHECK(large_form().latent_shape(33) == std::vector<std::int64_t>{16, 9, 44, 80});
  CHECK(large_form().item_bytes(33) == 2 * 1'013'760 + 657'920);
  CHECK(small_form().latent_shape(9) == std::vector<std::int64_t>{2, 3, 1, 3});
  CHECK(small_form().item_bytes(9) == 2 * (2 * 3 * 3 + 20));
}

TEST_CASE("latent layout: few large files, but several where there is little") {
  const LatentLayout large(large_form(), std::vector<std::int64_t>(50'000, 33), 2);
  check_shards(large);
  CHECK(large.items() == 100'000);
  CHECK(large.shards().front().items ==
        256 * kMiB / static_cast<std::int64_t>(large_form().item_bytes(33)));

  const LatentLayout small(small_form(), std::vector<std::int64_t>(300, 33), 3);
  check_shards(small);
  CHECK(small.shards().size() == 60);
  const LatentLayout tiny(small_form(), std::vector<std::int64_t>(5, 33), 1);
  check_shards(tiny);
  CHECK(tiny.shards().size() == 1);
}

TEST_CASE("latent layout: clips of different lengths do not share a file") {
  const LatentLayout layout(small_form(), {33, 33, 33, 17, 9, 9}, 4);

  check_shards(layout);
  for (const auto& place : layout.shards()) {
    const std::int64_t expected = place.first < 12 ? 33 : place.first < 16 ? 17 : 9;
    CHECK(place.frames == expected);
  }
  CHECK(LatentLayout::file_name(12) == "latents_00012.safetensors");
}
