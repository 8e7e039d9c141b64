#include "apps/wamtrain/latents_on_ranks.h"

#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/progress_bar.h"
#include "apps/wamtrain/shard_encoder.h"
#include "core/base/format.h"
#include "core/io/disk.h"

namespace wam {
namespace {

std::uint64_t bytes_of(const LatentLayout& layout, const std::vector<std::size_t>& shards) {
  std::uint64_t sum = 0;
  for (const auto shard : shards) sum += layout.bytes_of(shard);
  return sum;
}

std::vector<std::size_t> all_shards(const LatentLayout& layout) {
  std::vector<std::size_t> all(layout.shards().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<std::size_t> own_part(const std::vector<std::size_t>& shards, const LaunchEnv& env) {
  std::vector<std::size_t> own;
  const auto world = static_cast<std::size_t>(env.world_size);
  for (auto i = static_cast<std::size_t>(env.global_rank); i < shards.size(); i += world) {
    own.push_back(shards[i]);
  }
  return own;
}

// The first rank looks, for all.
std::vector<std::size_t> find_missing(LatentCacheBuild& build,
                                      bool rebuilds,
                                      Ranks& ranks,
                                      Log& log) {
  return nlohmann::json::parse(ranks.from_first([&] {
    build.begin(rebuilds);
    ProgressBar bar(log, "latents: reading what is there", "files");
    const auto missing =
        build.missing([&](std::int64_t done, std::int64_t total) { bar.show(done, total); });
    return nlohmann::json(missing).dump();
  }));
}

void say_size(const LatentWork& work, Log& log) {
  const LatentLayout& layout = work.layout();
  const auto bytes = [&](const std::vector<std::size_t>& shards) {
    return human_bytes(static_cast<double>(bytes_of(layout, shards)));
  };
  log.info(fmt::format(
      "latents of {}: {} windows show {} different clips, {} a clip: {} in {} files in {}, of "
      "which "
      "{} are to be encoded, {}",
      work.windows->name(work.member), with_commas(work.clips->num_starts()),
      with_commas(work.clips->size()),
      layout.augmentations() == 1 ? "1 augmentation"
                                  : fmt::format("{} augmentations", layout.augmentations()),
      bytes(all_shards(layout)), layout.shards().size(), work.build->options().folder.string(),
      work.missing.size(), bytes(work.missing)));
}

void say_end(const std::vector<LatentWork>& all, const ResolvedRecipe& recipe, Log& log) {
  std::size_t left = 0;
  for (const LatentWork& work : all) left += work.build->num_absent();
  log.info(left == 0 ? fmt::format("latents: all are in {}", recipe.latent_cache.string())
                     : fmt::format("stopped, {} files are left; the same command goes on", left));
}

}  // namespace

void encode_latents(const ResolvedRecipe& recipe,
                    const std::shared_ptr<const WindowDataset>& windows,
                    const LatentJob& job,
                    Ranks& ranks,
                    Log& log) {
  std::vector<LatentWork> all;
  std::uint64_t bytes = 0;
  for (std::size_t m = 0; m < windows->num_members(); ++m) {
    LatentWork& work = all.emplace_back();
    work.windows = windows;
    work.member = m;
    work.clips = std::make_shared<const ClipTable>(windows->clips(m));
    work.build = std::make_unique<LatentCacheBuild>(
        latent_cache_of(recipe, *windows, m, *work.clips, job.hashes, job.placement), log);
    work.missing = find_missing(*work.build, job.rebuilds, ranks, log);
    say_size(work, log);
    bytes += bytes_of(work.layout(), work.missing);
  }
  if (bytes > 0) {
    ranks.first_does(
        [&] { check_free_space(recipe.latent_cache, bytes, "storing latents of pictures"); });
    const auto encoders = load_encoders(recipe, job.placement, log);
    ShardEncoder encoder(recipe, *encoders,
                         {.placement = job.placement,
                          .stops = [&] { return ranks.stop_requested(); },
                          .moved = [&] { ranks.moved(); }},
                         log);
    for (const LatentWork& work : all) {
      if (!encoder.encode(work, own_part(work.missing, ranks.env()))) break;
    }
    ranks.wait_for_all();
  }
  ranks.first_does([&] { say_end(all, recipe, log); });
}

}  // namespace wam
