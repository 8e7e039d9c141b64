#include "data/latent_cache/latent_layout.h"

#include <algorithm>

#include "core/base/errors.h"

namespace wam {
namespace {

// What a killed process loses at most, and has in memory.
constexpr std::uint64_t kShardBytes = std::uint64_t{256} << 20;
// So that several ranks have about equal parts of a small cache.
constexpr std::int64_t kShards = 64;
constexpr std::int64_t kLeastItems = 8;

}  // namespace

std::vector<std::int64_t> LatentForm::latent_shape(std::int64_t frames) const {
  invariant(frames % 4 == 1, "a clip of 1 + 4k pictures");
  return {channels, 1 + (frames - 1) / 4, rows, columns};
}

std::uint64_t LatentForm::item_bytes(std::int64_t frames) const {
  std::int64_t latent = 1;
  for (const auto extent : latent_shape(frames)) latent *= extent;
  const std::int64_t values = (has_still ? 2 : 1) * latent + tokens * width;
  return static_cast<std::uint64_t>(values) * c10::elementSize(type);
}

LatentLayout::LatentLayout(LatentForm form,
                           const std::vector<std::int64_t>& frames,
                           std::int64_t augmentations)
    : form_(form),
      augmentations_(augmentations),
      items_(static_cast<std::int64_t>(frames.size()) * augmentations) {
  invariant(std::is_sorted(frames.rbegin(), frames.rend()), "clips sorted by length");
  for (std::size_t begin = 0; begin < frames.size();) {
    std::size_t end = begin;
    while (end < frames.size() && frames[end] == frames[begin]) ++end;
    add_items(static_cast<std::int64_t>(begin) * augmentations_,
              static_cast<std::int64_t>(end - begin) * augmentations_, frames[begin]);
    begin = end;
  }
}

void LatentLayout::add_items(std::int64_t first, std::int64_t count, std::int64_t frames) {
  const auto fit = static_cast<std::int64_t>(kShardBytes / form_.item_bytes(frames));
  const std::int64_t even = std::max(kLeastItems, (count + kShards - 1) / kShards);
  const std::int64_t most = std::max<std::int64_t>(1, std::min(fit, even));
  for (std::int64_t at = 0; at < count; at += most) {
    shards_.push_back({first + at, std::min(most, count - at), frames});
  }
}

std::size_t LatentLayout::shard_of(std::int64_t item) const {
  invariant(item >= 0 && item < items_, "an item of the cache");
  const auto after = std::upper_bound(
      shards_.begin(), shards_.end(), item,
      [](std::int64_t value, const LatentShardPlace& place) { return value < place.first; });
  return static_cast<std::size_t>(after - shards_.begin()) - 1;
}

std::uint64_t LatentLayout::bytes_of(std::size_t shard) const {
  const LatentShardPlace& place = shards_.at(shard);
  return static_cast<std::uint64_t>(place.items) * form_.item_bytes(place.frames);
}

std::string LatentLayout::file_name(std::size_t shard) {
  return fmt::format("latents_{:05}.safetensors", shard);
}

}  // namespace wam
