#include "apps/wamtrain/shard_encoder.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include "apps/wamtrain/clip_reader.h"
#include "apps/wamtrain/progress_bar.h"
#include "apps/wamtrain/training_parts.h"
#include "core/base/errors.h"
#include "core/cuda/device.h"
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

// The items of the shards in whole batches: the last item fills the last one.
std::vector<std::int64_t> items_in_batches(const LatentLayout& layout,
                                           const std::vector<std::size_t>& shards,
                                           std::int64_t batch) {
  std::vector<std::int64_t> out;
  for (const auto shard : shards) {
    const LatentShardPlace& place = layout.shards()[shard];
    for (std::int64_t i = 0; i < place.items; ++i) out.push_back(place.first + i);
  }
  while (static_cast<std::int64_t>(out.size()) % batch != 0) out.push_back(out.back());
  return out;
}

// Why a clip of the batch has no pictures; null where it has.
const std::string* find_bad(const Batch& clips, std::size_t position) {
  for (const BadSample& bad : clips.replaced) {
    if (bad.ordinal == clips.ordinal[position]) return &bad.why;
  }
  return nullptr;
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
  shards_.assign(shards.begin(), shards.end());
  for (std::int64_t done = 0; done < total;) {
    if (options_.stops()) return false;
    fill_from(loader_->next(), work);
    options_.moved();
    done = std::min(total, done + batch());
    bar.show(done, total);
  }
  return true;
}

// A batch may end one shard, or several, and begin another.
void ShardEncoder::fill_from(const Batch& clips, const LatentWork& work) {
  const EncodedPictures all = encoded(clips);
  for (std::size_t i = 0; i < clips.id.size() && !shards_.empty(); ++i) {
    const std::size_t shard = shards_.front();
    const LatentShardPlace& place = work.layout().shards()[shard];
    if (!items_) items_.emplace(work.layout().form(), place);
    if (const std::string* why = find_bad(clips, i)) {
      items_->bad[filled_] = *why;
      log_.warn("latents: a clip is left out: " + *why);
    } else {
      items_->put(filled_, all, static_cast<std::int64_t>(i));
    }
    if (++filled_ < place.items) continue;
    work.build->write(shard, *items_);
    items_.reset();
    filled_ = 0;
    shards_.pop_front();
  }
}

void ShardEncoder::open_loader(const LatentWork& work, const std::vector<std::size_t>& shards) {
  loader_.reset();
  // What this thread does on the host beside a GPU is little, and the cores are needed.
  if (options_.placement.device.is_cuda()) compute_alone();
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

}  // namespace wam
