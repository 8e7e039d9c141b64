#include "apps/wamtrain/shard_encoder.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include "apps/wamtrain/clip_reader.h"
#include "apps/wamtrain/progress_bar.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
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

// On the CPU. Errors: DataError for values that are not finite.
at::Tensor checked(const at::Tensor& values, const char* what, const char* key) {
  require<DataError>(at::isfinite(values).all().item().toBool(),
                     "encoding pictures: the {} gave values that are not finite. Fix: check the "
                     "weights in model.components.{}.",
                     what, key);
  return values.cpu();
}

// Items of the shards in batches that do not cross shards: a shard's last one fills its last batch.
std::vector<std::int64_t> items_in_batches(const LatentLayout& layout,
                                           const std::vector<std::size_t>& shards,
                                           std::int64_t batch) {
  std::vector<std::int64_t> out;
  for (const auto shard : shards) {
    const LatentShardPlace& place = layout.shards()[shard];
    const std::int64_t batches = (place.items + batch - 1) / batch;
    for (std::int64_t i = 0; i < batches * batch; ++i) {
      out.push_back(place.first + std::min(i, place.items - 1));
    }
  }
  return out;
}

}  // namespace

ShardEncoder::ShardEncoder(const ResolvedRecipe& recipe,
                           FrozenEncoders& encoders,
                           Options options,
                           Log& log)
    : recipe_(recipe),
      encoders_(encoders),
      options_(std::move(options)),
      log_(log),
      text_(std::make_unique<NoText>()) {}

// As many clips as a micro-batch of training has: with another number kernels may round otherwise.
std::int64_t ShardEncoder::batch() const {
  return std::min(recipe_.train.options.micro_batch, recipe_.train.options.global_batch);
}

bool ShardEncoder::encode(const LatentWork& work, const std::vector<std::size_t>& shards) {
  if (shards.empty()) return true;
  open_loader(work, shards);
  std::int64_t total = 0;
  for (const auto shard : shards) total += work.layout().shards()[shard].items;
  const bool is_part = shards.size() < work.missing.size();
  ProgressBar bar(log_,
                  fmt::format("latents of {}{}", work.windows->name(work.member),
                              is_part ? ", this rank's part" : ""),
                  "clips");
  std::int64_t done = 0;
  for (const auto shard : shards) {
    const LatentShardPlace& place = work.layout().shards()[shard];
    LatentItems items(work.layout().form(), place);
    for (std::int64_t first = 0; first < place.items; first += batch()) {
      if (options_.stops()) return false;
      fill(place, first, items);
      options_.moved();
      done += std::min(batch(), place.items - first);
      bar.show(done, total);
    }
    work.build->write(shard, items);
  }
  return true;
}

void ShardEncoder::open_loader(const LatentWork& work, const std::vector<std::size_t>& shards) {
  loader_.reset();
  const auto stream = items_in_batches(work.layout(), shards, batch());
  const std::uint64_t size = stream.size();
  const SampleOrder order({size}, {1}, recipe_.options.run.seed);
  std::vector<std::int64_t> item_of_window(stream.size());
  for (std::uint64_t i = 0; i < size; ++i) item_of_window[order.window(i)] = stream[i];
  const bool marks_bad = recipe_.options.data.on_bad_sample == OnBadSample::kSkip;
  auto reader = std::make_shared<const ClipReader>(work.windows, work.member, work.clips,
                                                   std::move(item_of_window), marks_bad);
  auto options = loader_options(recipe_, options_.placement.device, 0, {});
  options.plan = {.global_batch = static_cast<std::uint64_t>(batch()), .micro_batch = batch()};
  options.on_slow = [this](const std::string& line) { log_.warn(line); };
  loader_ = std::make_unique<Loader>(
      std::make_shared<const GuardedDataset>(std::move(reader), BadSampleRule{.sizes = {size}}),
      order, *text_, options);
}

EncodedPictures ShardEncoder::encoded(const Batch& clips) {
  const EncodedPictures found = encode_pictures(clips, encoders_,
                                                {.config = recipe_.model.config,
                                                 .type = options_.placement.type,
                                                 .device = options_.placement.device});
  EncodedPictures out;
  out.latent_BCFYX = checked(found.latent_BCFYX, "VAE", "vae");
  if (found.still_BCFYX.defined()) out.still_BCFYX = checked(found.still_BCFYX, "VAE", "vae");
  out.image_BMD = checked(found.image_BMD, "image encoder", "image_encoder");
  return out;
}

// The next batch, in the places from `first` on.
void ShardEncoder::fill(const LatentShardPlace& place, std::int64_t first, LatentItems& items) {
  const Batch clips = loader_->next();
  const EncodedPictures all = encoded(clips);
  for (std::int64_t i = 0; i < batch() && first + i < place.items; ++i) {
    const auto ordinal = clips.ordinal[static_cast<std::size_t>(i)];
    const auto bad = std::find_if(clips.replaced.begin(), clips.replaced.end(),
                                  [&](const BadSample& one) { return one.ordinal == ordinal; });
    if (bad == clips.replaced.end()) {
      items.put(first + i, all, i);
    } else {
      items.bad[first + i] = bad->why;
      log_.warn("latents: a clip is left out: " + bad->why);
    }
  }
}

}  // namespace wam
