#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/log.h"
#include "core/train/batch.h"
#include "data/latent_cache/latent_layout.h"
#include "data/latent_cache/latent_shard.h"

namespace wam {

// The cached latents of one dataset: a folder with manifest.json and the files of the layout.
struct LatentCacheOptions {
  std::filesystem::path folder;
  // All that the latents follow from, as a JSON object. A cache is used for what it says, to the
  // letter, and for nothing else.
  std::string contents;
  LatentLayout layout;
};

// A whole cache, for training. Threads: any.
class LatentCache {
 public:
  // Opens all files and reads none. Errors: ConfigError when there is no cache, when it is of
  // something else (naming each difference) or not finished; DataError when a file is damaged.
  explicit LatentCache(const LatentCacheOptions& options);

  // Item clip * augmentations + augmentation. Errors: as LatentShard::item.
  [[nodiscard]] EncodedPictures item(std::int64_t item) const;
  [[nodiscard]] std::int64_t augmentations() const noexcept { return layout_.augmentations(); }

 private:
  LatentLayout layout_;
  std::vector<std::shared_ptr<const LatentShard>> shards_;
};

// A cache in the making, by any number of processes, each of which writes shards of its own. What a
// killed process has written whole is kept; partial files are never seen under their final name.
class LatentCacheBuild {
 public:
  // `log` must outlive it.
  LatentCacheBuild(LatentCacheOptions options, Log& log);

  // Once, before any process writes. A cache of something else is refused or, where it `rebuilds`,
  // removed. Errors: ConfigError naming each difference; DeviceError.
  void begin(bool rebuilds);
  // Which shards are to be written. Those that are there are read, and set aside (renamed to
  // *.corrupt) when a hash does not hold. `on_shard` is told after each that was looked at.
  [[nodiscard]] std::vector<std::size_t> missing(
      const std::function<void(std::int64_t done, std::int64_t total)>& on_shard = {});
  // Shards whose file is not there.
  [[nodiscard]] std::size_t num_absent() const;
  // Errors: DeviceError when the disk is full.
  void write(std::size_t shard, const LatentItems& items) const;

  [[nodiscard]] const LatentCacheOptions& options() const noexcept { return options_; }

 private:
  [[nodiscard]] bool is_whole(std::size_t shard) const;

  LatentCacheOptions options_;
  Log& log_;
};

}  // namespace wam
