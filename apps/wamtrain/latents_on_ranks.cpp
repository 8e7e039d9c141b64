#include "apps/wamtrain/latents_on_ranks.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <nlohmann/json.hpp>

#include "apps/wamtrain/clip_reader.h"
#include "apps/wamtrain/encoders.h"
#include "apps/wamtrain/progress_bar.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
#include "core/base/format.h"
#include "core/io/disk.h"
#include "models/wam/picture_encoding.h"

namespace wam {
namespace {

// A loader's batches have a text.
class NoText : public TextEmbeddings {
 public:
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override { return row_; }
  [[nodiscard]] std::int64_t width() const override { return 1; }

 private:
  at::Tensor row_ = at::zeros({1, 1}, at::kBFloat16);
};

// What is to be done of one dataset.
struct MemberWork {
  std::size_t member = 0;
  std::shared_ptr<const ClipTable> clips;
  std::unique_ptr<LatentCacheBuild> build;
  std::vector<std::size_t> missing;  // shards, of all ranks

  [[nodiscard]] const LatentLayout& layout() const { return build->options().layout; }
  [[nodiscard]] std::uint64_t bytes(const std::vector<std::size_t>& shards) const {
    std::uint64_t sum = 0;
    for (const auto shard : shards) sum += layout().bytes_of(shard);
    return sum;
  }
};

std::string bytes_text(std::uint64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

std::vector<std::size_t> every_shard(const LatentLayout& layout) {
  std::vector<std::size_t> all(layout.shards().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// Encodes the shards of one rank, one after the other.
class ShardEncoder {
 public:
  ShardEncoder(const ResolvedRecipe& recipe,
               const FrozenPlacement& placement,
               FrozenEncoders& encoders,
               Ranks& ranks,
               Log& log)
      : recipe_(recipe), placement_(placement), encoders_(encoders), ranks_(ranks), log_(log) {}

  // False when a stop was asked for.
  bool encode(const std::shared_ptr<const WindowDataset>& windows, const MemberWork& work) {
    const auto shards = own_part(work.missing);
    if (shards.empty()) return true;
    open_loader(windows, work, shards);
    std::int64_t total = 0;
    for (const auto shard : shards) total += work.layout().shards()[shard].items;
    ProgressBar bar(log_, "latents of " + windows->name(work.member), "clips");
    std::int64_t done = 0;
    for (const auto shard : shards) {
      const LatentShardPlace& place = work.layout().shards()[shard];
      LatentItems items(work.layout().form(), place);
      for (std::int64_t at = 0; at < place.items; at += batch()) {
        if (ranks_.stop_requested()) return false;
        encode_batch(at, place, items);
        done += std::min(batch(), place.items - at);
        bar.show(done, total);
      }
      work.build->write(shard, items);
    }
    return true;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> own_part(const std::vector<std::size_t>& shards) const {
    std::vector<std::size_t> own;
    const auto world = static_cast<std::size_t>(ranks_.env().world_size);
    for (auto i = static_cast<std::size_t>(ranks_.env().global_rank); i < shards.size();
         i += world) {
      own.push_back(shards[i]);
    }
    return own;
  }

  // As many clips as a micro-batch of training has: kernels of another size may round otherwise.
  [[nodiscard]] std::int64_t batch() const {
    return std::min(recipe_.train.options.micro_batch, recipe_.train.options.global_batch);
  }

  void open_loader(const std::shared_ptr<const WindowDataset>& windows,
                   const MemberWork& work,
                   const std::vector<std::size_t>& shards) {
    loader_.reset();
    std::vector<std::int64_t> stream;  // a shard's last item fills its last batch
    for (const auto shard : shards) {
      const LatentShardPlace& place = work.layout().shards()[shard];
      const std::int64_t batches = (place.items + batch() - 1) / batch();
      for (std::int64_t i = 0; i < batches * batch(); ++i) {
        stream.push_back(place.first + std::min(i, place.items - 1));
      }
    }
    const std::uint64_t size = stream.size();
    const SampleOrder order({size}, {1}, recipe_.options.run.seed);
    std::vector<std::int64_t> items(stream.size());
    for (std::uint64_t i = 0; i < size; ++i) items[order.window(i)] = stream[i];
    auto reader = std::make_shared<const ClipReader>(windows, work.member, work.clips,
                                                     std::move(items), marks_bad());
    auto options = loader_options(recipe_, placement_.device, 0, {});
    options.plan = {.global_batch = static_cast<std::uint64_t>(batch()), .micro_batch = batch()};
    options.on_slow = [this](const std::string& line) { log_.warn(line); };
    loader_ = std::make_unique<Loader>(
        std::make_shared<const GuardedDataset>(std::move(reader), BadSampleRule{.sizes = {size}}),
        order, text_, options);
  }

  [[nodiscard]] bool marks_bad() const {
    return recipe_.options.data.on_bad_sample == OnBadSample::kSkip;
  }

  void encode_batch(std::int64_t at, const LatentShardPlace& place, LatentItems& items) {
    const Batch clips = loader_->next();
    const EncodedPictures encoded = encode_pictures(
        clips, encoders_,
        {.config = recipe_.model.config, .type = placement_.type, .device = placement_.device});
    check_finite(encoded.latent_BCFYX, "VAE", "vae");
    if (encoded.still_BCFYX.defined()) check_finite(encoded.still_BCFYX, "VAE", "vae");
    check_finite(encoded.image_BMD, "image encoder", "image_encoder");
    const EncodedPictures on_host{
        encoded.latent_BCFYX.cpu(),
        encoded.still_BCFYX.defined() ? encoded.still_BCFYX.cpu() : at::Tensor(),
        encoded.image_BMD.cpu()};
    for (std::int64_t i = 0; i < batch() && at + i < place.items; ++i) {
      const SampleId& id = clips.id[static_cast<std::size_t>(i)];
      const auto bad = std::find_if(clips.replaced.begin(), clips.replaced.end(),
                                    [&](const BadSample& one) { return one.id == id; });
      if (bad == clips.replaced.end()) {
        items.put(at + i, on_host, i);
      } else {
        items.bad[at + i] = bad->why;
        log_.warn("latents: a clip is left out: " + bad->why);
      }
    }
    ranks_.moved();
  }

  static void check_finite(const at::Tensor& values, const char* what, const char* key) {
    require<DataError>(at::isfinite(values).all().item().toBool(),
                       "encoding pictures: the {} gave values that are not finite. Fix: check the "
                       "weights in model.components.{}.",
                       what, key);
  }

  const ResolvedRecipe& recipe_;
  FrozenPlacement placement_;
  FrozenEncoders& encoders_;
  Ranks& ranks_;
  Log& log_;
  NoText text_;
  std::unique_ptr<Loader> loader_;
};

std::vector<std::size_t> find_missing(MemberWork& work, bool rebuilds, Ranks& ranks, Log& log) {
  return nlohmann::json::parse(ranks.from_first([&] {
    work.build->begin(rebuilds);
    ProgressBar bar(log, "latents: reading what is there", "files");
    const auto missing =
        work.build->missing([&](std::int64_t done, std::int64_t total) { bar.show(done, total); });
    return nlohmann::json(missing).dump();
  }));
}

void say_size(const MemberWork& work, const WindowDataset& windows, Log& log) {
  const LatentLayout& layout = work.layout();
  log.info(fmt::format(
      "latents of {}: {} windows show {} different clips; with {} augmentations {} in {} files; "
      "{} of them to encode, {}, into {}",
      windows.name(work.member), with_commas(work.clips->num_starts()),
      with_commas(work.clips->size()), layout.augmentations(),
      bytes_text(work.bytes(every_shard(layout))), layout.shards().size(), work.missing.size(),
      bytes_text(work.bytes(work.missing)), work.build->options().folder.string()));
}

}  // namespace

void encode_latents(const ResolvedRecipe& recipe,
                    const std::shared_ptr<const WindowDataset>& windows,
                    const EncoderHashes& hashes,
                    const FrozenPlacement& placement,
                    bool rebuilds,
                    Ranks& ranks,
                    Log& log) {
  std::vector<MemberWork> all;
  std::uint64_t bytes = 0;
  for (std::size_t m = 0; m < windows->num_members(); ++m) {
    MemberWork& work = all.emplace_back();
    work.member = m;
    work.clips = std::make_shared<const ClipTable>(windows->clips(m));
    work.build = std::make_unique<LatentCacheBuild>(
        latent_cache_of(recipe, *windows, m, *work.clips, hashes, placement), log);
    work.missing = find_missing(work, rebuilds, ranks, log);
    say_size(work, *windows, log);
    bytes += work.bytes(work.missing);
  }
  if (bytes > 0) {
    ranks.first_does(
        [&] { check_free_space(recipe.latent_cache, bytes, "storing latents of pictures"); });
    const auto encoders = load_encoders(recipe, placement, log);
    ShardEncoder encoder(recipe, placement, *encoders, ranks, log);
    for (const MemberWork& work : all) {
      if (!encoder.encode(windows, work)) break;
    }
    ranks.wait_for_all();
  }
  ranks.first_does([&] {
    std::size_t left = 0;
    for (const MemberWork& work : all) left += work.build->num_absent();
    log.info(left == 0 ? fmt::format("latents: all are in {}", recipe.latent_cache.string())
                       : fmt::format("stopped, {} files are left; the same command goes on", left));
  });
}

}  // namespace wam
