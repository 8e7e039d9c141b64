#include "data/latent_cache/latent_cache.h"

#include <optional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/base/now_reading.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/io/hash.h"
#include "core/io/json_difference.h"
#include "core/io/shared_folder.h"

namespace wam {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kBuild = "wamtrain cache RECIPE --what latents";

fs::path manifest_of(const fs::path& folder) {
  return folder / "manifest.json";
}

std::string hash_of(const std::string& contents) {
  return hash_hex(content_hash(contents.data(), contents.size()));
}

fs::path file_of(const LatentCacheOptions& options, std::size_t shard) {
  return options.folder / LatentLayout::file_name(shard);
}

// What the cache in a folder is of; nothing where there is none.
std::optional<std::string> contents_of(const fs::path& folder) {
  const fs::path file = manifest_of(folder);
  if (!fs::exists(file)) return std::nullopt;
  const Json manifest = Json::parse(read_file(file), nullptr, false);
  require<DataError>(manifest.is_object() && manifest.value("contents", Json()).is_object(),
                     "opening the latent cache {}: its manifest.json is damaged. Fix: remove the "
                     "folder, then {}.",
                     folder.string(), kBuild);
  return manifest["contents"].dump();
}

[[noreturn]] void refuse(const LatentCacheOptions& options, const std::string& found) {
  const auto lines = json_differences("latents", found, options.contents, {"cache", "recipe"});
  throw ConfigError(fmt::format(
      "the latent cache {} is not of what this recipe trains on.\n  {}\nFix: undo the "
      "change, or encode anew (which removes this cache): {} --rebuild, or name another "
      "folder in data.latent_cache.",
      options.folder.string(), join(lines, "\n  "), kBuild));
}

std::shared_ptr<const LatentShard> open_shard(const LatentCacheOptions& options,
                                              std::size_t shard) {
  const Reading reading(file_of(options, shard));
  return std::make_shared<const LatentShard>(file_of(options, shard), options.layout.form(),
                                             options.layout.shards()[shard],
                                             hash_of(options.contents));
}

std::size_t count_absent(const LatentCacheOptions& options) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < options.layout.shards().size(); ++i) {
    if (!fs::exists(file_of(options, i))) ++count;
  }
  return count;
}

// Files of a cache, of whatever it is, and nothing else that may be in the folder.
void remove_cache(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("latents_")) files.push_back(entry.path());
  }
  for (const fs::path& file : files) remove_tree(file);
  remove_tree(manifest_of(folder));
}

}  // namespace

LatentCache::LatentCache(const LatentCacheOptions& options) : layout_(options.layout) {
  const auto found = contents_of(options.folder);
  require<ConfigError>(found.has_value(),
                       "data.latents: cached, but there is no latent cache in {}. Fix: {}, or "
                       "data.latents: live.",
                       options.folder.string(), kBuild);
  if (*found != options.contents) refuse(options, *found);
  const std::size_t missing = count_absent(options);
  require<ConfigError>(missing == 0,
                       "the latent cache {} is not finished: {} of its {} files are missing. Fix: "
                       "{}, which goes on where it stopped.",
                       options.folder.string(), missing, layout_.shards().size(), kBuild);
  for (std::size_t i = 0; i < layout_.shards().size(); ++i) {
    shards_.push_back(open_shard(options, i));
  }
}

EncodedPictures LatentCache::item(std::int64_t item) const {
  const std::size_t shard = layout_.shard_of(item);
  return shards_[shard]->item(item - layout_.shards()[shard].first);
}

LatentCacheBuild::LatentCacheBuild(LatentCacheOptions options, Log& log)
    : options_(std::move(options)), log_(log) {}

void LatentCacheBuild::begin(bool rebuilds) {
  make_folders(options_.folder);
  for (const auto& entry : fs::directory_iterator(options_.folder)) {
    if (entry.path().extension() == ".tmp") remove_if_stale(entry.path());
  }
  const auto found = contents_of(options_.folder);
  if (found == options_.contents) return;
  if (found) {
    if (!rebuilds) refuse(options_, *found);
    log_.info(
        fmt::format("latents: {} is of something else, and removed", options_.folder.string()));
    remove_cache(options_.folder);
  }
  const Json manifest{{"format", "wamtrain latents 1"},
                      {"contents", Json::parse(options_.contents)}};
  write_file_atomically(manifest_of(options_.folder), manifest.dump(2) + "\n");
}

bool LatentCacheBuild::is_whole(std::size_t shard) const {
  const fs::path file = file_of(options_, shard);
  if (!fs::exists(file)) return false;
  std::string why = "a hash does not hold";
  try {
    if (open_shard(options_, shard)->is_whole()) return true;
  } catch (const DataError& error) {
    why = error.what();
  }
  std::error_code failed;
  fs::rename(file, file.string() + ".corrupt", failed);
  log_.warn(
      fmt::format("latents: {} is damaged ({}); it is set aside as .corrupt and encoded again.",
                  file.string(), why));
  return false;
}

std::vector<std::size_t> LatentCacheBuild::missing(
    const std::function<void(std::int64_t done, std::int64_t total)>& on_shard) {
  std::vector<std::size_t> out;
  const std::size_t count = options_.layout.shards().size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_whole(i)) out.push_back(i);
    if (on_shard) on_shard(static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(count));
  }
  return out;
}

std::size_t LatentCacheBuild::num_absent() const {
  return count_absent(options_);
}

void LatentCacheBuild::write(std::size_t shard, const LatentItems& items) const {
  LatentShard::write(file_of(options_, shard), items, hash_of(options_.contents));
}

}  // namespace wam
