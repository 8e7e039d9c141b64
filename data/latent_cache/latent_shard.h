#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/io/safetensors.h"
#include "core/train/batch.h"
#include "data/latent_cache/latent_layout.h"

namespace wam {

// The items of a shard, on their way to the disk. n item
struct LatentItems {
  LatentItems(const LatentForm& form, const LatentShardPlace& place);
  // Puts item `from` of a batch, on the CPU, in place `at`.
  void put(std::int64_t at, const EncodedPictures& batch, std::int64_t from);

  EncodedPictures stacked;                  // with n in the place of B
  std::map<std::int64_t, std::string> bad;  // by place: why there are no pictures; its values are 0
};

// A file of latents, memory-mapped: safetensors with "latent", "image", "still" where the model
// reads it, and "hash", the XXH3 of each item. The header says of which cache it is.
// Threads: const members from any.
class LatentShard : public std::enable_shared_from_this<LatentShard> {
 public:
  // `contents`: the hash of what the cache is of. Errors: DataError when the file cannot be read or
  // is not this shard of that cache.
  LatentShard(const std::filesystem::path& path,
              const LatentForm& form,
              const LatentShardPlace& place,
              const std::string& contents);

  // The mapped item at a place; it keeps the file open. Its bytes are read, and their hash
  // compared. Errors: ContentError with the reason when there are no pictures; DataError when the
  // hash differs.
  [[nodiscard]] EncodedPictures item(std::int64_t at) const;
  // Reads everything: whether all hashes hold.
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_.path(); }

  // All of the file or nothing. Errors: DeviceError.
  static void write(const std::filesystem::path& path,
                    const LatentItems& items,
                    const std::string& contents);

 private:
  [[nodiscard]] at::Tensor mapped(const std::string& name, std::int64_t at) const;
  [[nodiscard]] EncodedPictures view(std::int64_t at) const;
  [[nodiscard]] bool hash_holds(std::int64_t at, const EncodedPictures& item) const;

  SafetensorsFile file_;
  LatentShardPlace place_;
  bool has_still_;
};

}  // namespace wam
