#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace wam {

// C channel · F Y X latent frame, row, column · M image token · D its width

// What one item of a cache holds: the sizes of EncodedPictures of one clip, but for its length.
struct LatentForm {
  std::int64_t channels = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool has_still = false;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  at::ScalarType type = at::kBFloat16;

  // Of a clip of `frames` = 1 + 4k pictures.
  [[nodiscard]] std::vector<std::int64_t> latent_shape(std::int64_t frames) const;
  [[nodiscard]] std::uint64_t item_bytes(std::int64_t frames) const;
};

// Items that stand in one file.
struct LatentShardPlace {
  std::int64_t first = 0;
  std::int64_t items = 0;
  std::int64_t frames = 0;  // of the clips of all of them
};

// How the items of a cache, clip by clip and augmentation by augmentation, lie in files. It follows
// from their number and sizes alone, so that any number of processes can fill them in any order:
// files of up to 256 MiB, and up to 64 files before they grow.
class LatentLayout {
 public:
  // `frames`: of each clip, longest first; `augmentations` of each.
  LatentLayout(LatentForm form,
               const std::vector<std::int64_t>& frames,
               std::int64_t augmentations);

  [[nodiscard]] const LatentForm& form() const noexcept { return form_; }
  [[nodiscard]] std::int64_t items() const noexcept { return items_; }
  [[nodiscard]] std::int64_t augmentations() const noexcept { return augmentations_; }
  [[nodiscard]] const std::vector<LatentShardPlace>& shards() const noexcept { return shards_; }
  // The shard that holds an item.
  [[nodiscard]] std::size_t shard_of(std::int64_t item) const;
  [[nodiscard]] std::uint64_t bytes_of(std::size_t shard) const;
  // "latents_00012.safetensors".
  [[nodiscard]] static std::string file_name(std::size_t shard);

 private:
  void add_items(std::int64_t first, std::int64_t count, std::int64_t frames);

  LatentForm form_;
  std::int64_t augmentations_;
  std::int64_t items_ = 0;
  std::vector<LatentShardPlace> shards_;
};

}  // namespace wam
