#include "apps/wamtrain/bench/data_bench.h"

#include <chrono>
#include <numeric>

#include <ATen/ops/zeros.h>

#include "apps/wamtrain/bench/data_stream.h"
#include "apps/wamtrain/bench/decode_bench.h"
#include "apps/wamtrain/bench/host_facts.h"
#include "apps/wamtrain/bench/open_bench.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/bench/torchvision.h"
#include "core/base/instruction_set.h"
#include "core/base/names.h"
#include "core/cuda/device.h"

namespace wam {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWarmUpBatches = 3;
// Samples whose pictures are transformed: every one draws another order of the jitter.
constexpr std::uint64_t kClips = 4;
// What one GPU asks for (docs/benchmarks.md).
constexpr double kRate = 16;
constexpr std::int64_t kTorchvisionRepeats = 3;

// For the loader alone, which needs no real text.
class EmptyText : public TextEmbeddings {
 public:
  explicit EmptyText(std::int64_t width) : rows_(at::zeros({kRows, width}, at::kBFloat16)) {}
  [[nodiscard]] at::Tensor rows(const std::string& /*prompt*/) const override { return rows_; }
  [[nodiscard]] std::int64_t width() const override { return rows_.size(1); }

 private:
  static constexpr std::int64_t kRows = 24;
  at::Tensor rows_;
};

// The pictures of another dataset's windows as recorded, and nothing else of them.
class PicturesAlone : public Dataset {
 public:
  explicit PicturesAlone(std::shared_ptr<const WindowDataset> data) : data_(std::move(data)) {}
  [[nodiscard]] std::uint64_t size() const override { return data_->size(); }
  [[nodiscard]] SampleId identify(std::uint64_t window_idx) const override {
    return data_->identify(window_idx);
  }
  [[nodiscard]] Sample load(std::uint64_t window_idx,
                            std::uint64_t ordinal,
                            Transforms transforms) const override {
    Sample sample;
    sample.id = identify(window_idx);
    sample.ordinal = ordinal;
    sample.clip = data_->recorded(static_cast<std::size_t>(sample.id.dataset),
                                  data_->draw(window_idx, ordinal, transforms));
    sample.state_NS = sample.action_PA = at::zeros({1, 1}, at::kFloat);
    sample.action_mask_PA = at::zeros({1, 1}, at::kBool);
    return sample;
  }
  [[nodiscard]] std::vector<std::string> prompts() const override { return {}; }
  [[nodiscard]] std::string fingerprint() const override { return data_->fingerprint(); }
  [[nodiscard]] ActionMeaning action_meaning(std::int32_t dataset) const override {
    return data_->action_meaning(dataset);
  }
  [[nodiscard]] at::Tensor physical_actions(std::int32_t /*dataset*/,
                                            const at::Tensor& action_PA) const override {
    return action_PA;
  }

 private:
  std::shared_ptr<const WindowDataset> data_;
};

// What the loader's speed depends on beside the program.
void add_host(const Recipe& recipe, BenchResult& out) {
  std::vector<std::string> sets;
  for (const auto& dataset : recipe.data.datasets) {
    sets.push_back(
        fmt::format("{} ({})", dataset.path.filename().string(), file_system_of(dataset.path)));
  }
  out.settings.emplace_back("dataset", join(sets));
  out.settings.emplace_back("processor", processor_name());
  out.settings.emplace_back("instructions", std::string(name_of(best_instruction_set())));
}

enum class Images { kAsTheyCome, kOnDevice };

struct LoaderTimes {
  double wall_s = 0;
  double processor_s = 0;  // of all threads
};

// Of the timed steps of the stream's loader.
LoaderTimes time_loader(const BenchContext& context, Loader& loader, Images images) {
  const auto read = [&](std::int64_t steps) {
    for (std::int64_t i = 0; i < steps * loader.micro_steps(); ++i) {
      const Batch batch = loader.next();
      if (images == Images::kAsTheyCome || !batch.raw) continue;
      images_of(*batch.raw, context.device);
      synchronize_device(context.device);
    }
  };
  read(kWarmUpBatches);
  const auto start = Clock::now();
  const double processor_s = processor_seconds();
  read(context.options.steps);
  return {std::chrono::duration<double>(Clock::now() - start).count(),
          processor_seconds() - processor_s};
}

// The rate by that of one worker alone, times the number of workers.
void add_scaling(const BenchContext& context, DataStream& stream, double rate, BenchResult& out) {
  context.log.info("timing one worker alone");
  stream.open(context, stream.windows(), 1);
  const LoaderTimes one = time_loader(context, *stream.loader, Images::kOnDevice);
  const auto samples =
      static_cast<double>(context.options.steps * context.recipe.options.train.global_batch);
  const double alone = samples / one.wall_s;
  out.figures.push_back({"alone_samples_s", "rate of one worker alone", alone, "samples/s", {}});
  out.figures.push_back({"scaling",
                         "rate by that of one, times the workers",
                         rate / (alone * static_cast<double>(context.recipe.data.workers)),
                         "share",
                         {}});
}

// The first windows of the first dataset, each with draws of its own.
std::vector<RawClip> some_clips(const WindowDataset& data) {
  std::vector<RawClip> out;
  for (std::uint64_t i = 0; i < kClips; ++i) {
    out.push_back(data.recorded(0, data.draw(0, i, Transforms::kTraining)));
  }
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Seconds a clip, median, on this thread, into memory that is there, as the loader's batches are.
std::vector<double> time_clips(const BenchContext& context, const std::vector<RawClip>& clips) {
  const at::Tensor image_THWC = image_of(clips.front());
  std::vector<double> out;
  for (const auto& clip : clips) {
    const auto call = [&] { image_into(clip, image_THWC); };
    out.push_back(time_calls(c10::kCPU, context.options.steps, call).median_s);
  }
  return out;
}

// What torchvision's time is by ours, ours being taken before and after.
void add_torchvision(const BenchContext& context,
                     const std::vector<RawClip>& clips,
                     double before_s,
                     BenchResult& out) {
  std::vector<at::Tensor> images;
  for (const auto& clip : clips) images.push_back(image_of(clip));
  context.log.info("timing torchvision on the same pictures");
  const TorchvisionTimes theirs =
      time_torchvision(context.options.torchvision, clips, images, kTorchvisionRepeats);
  const double ours_s = (before_s + mean(time_clips(context, clips))) / 2;
  const double theirs_s = mean(theirs.seconds);
  out.settings.emplace_back("by", theirs.by);
  out.figures.push_back(
      {"torchvision_ms", "the same in torchvision, one thread", 1e3 * theirs_s, "ms", {}});
  out.figures.push_back(
      {"transform_ratio", "torchvision's time by ours", theirs_s / ours_s, "times", {}});
  out.notes.push_back(
      fmt::format("Of torchvision's values {:.1e} differ from ours, by {} of 255 levels at most.",
                  theirs.share, theirs.worst_level));
}

void add_transform(const BenchContext& context, const WindowDataset& data, BenchResult& out) {
  context.log.info("timing the transform of a sample's pictures");
  const std::vector<RawClip> clips = some_clips(data);
  const double ours_s = mean(time_clips(context, clips));
  const ClipPlan& plan = *clips.front().plan;
  out.settings.emplace_back(
      "pictures", fmt::format("{} of {}x{} to {}x{}", clips.front().frames() * plan.num_views,
                              plan.in_width, plan.in_height, plan.columns.out, plan.rows.out));
  out.figures.push_back(
      {"transform_ms", "pictures of a sample, one thread", 1e3 * ours_s, "ms", {}});
  if (!context.options.torchvision.empty()) add_torchvision(context, clips, ours_s, out);
}

}  // namespace

BenchResult bench_data(const BenchContext& context) {
  require<ConfigError>(!context.options.against_one || context.recipe.data.workers > 1,
                       "--against-one: data.workers is 1, which is alone already. Fix: set more "
                       "workers, such as --set data.workers=16, or leave it out.");
  require<ConfigError>(context.options.torchvision.empty() || !caches_latents(context.recipe),
                       "--torchvision: data.latents is cached, and no picture is transformed. Fix: "
                       "--set data.latents=live, or leave it out.");
  compute_alone();  // the loader's cores are measured, not this thread's that take from it
  DataStream stream(context, std::make_unique<EmptyText>(context.recipe.model.config.text_width));
  const Recipe& recipe = context.recipe.options;
  const bool on_gpu = recipe.data.transform_on == TransformOn::kGpu;
  const auto samples = static_cast<double>(context.options.steps * recipe.train.global_batch);
  context.log.info(fmt::format("timing {} global batches", context.options.steps));
  stream.open(context);
  const LoaderTimes whole = time_loader(context, *stream.loader, Images::kOnDevice);
  BenchResult out;
  const bool is_cached = caches_latents(context.recipe);
  out.title = is_cached ? "loader: cached latents, batches in host memory"
              : on_gpu  ? "loader: decoding, batches of recorded pictures, images on the GPU"
                        : "loader: decoding, transforms, batches in host memory";
  out.settings = {{"workers", std::to_string(context.recipe.data.workers)},
                  {"prefetch_samples", std::to_string(context.recipe.data.prefetch_samples)},
                  {"micro_batch", std::to_string(recipe.train.micro_batch)},
                  {"global_batch", std::to_string(recipe.train.global_batch)},
                  {"transform_on", std::string(name_of(recipe.data.transform_on))}};
  add_host(recipe, out);
  out.figures = {
      {"samples_s", "rate", samples / whole.wall_s, "samples/s", {}},
      {"ms", "a sample, of all workers together", 1e3 * whole.wall_s / samples, "ms", {}},
      {"cores_16", "cores for 16 samples/s", kRate * whole.processor_s / samples, "cores", {}}};
  if (on_gpu && !is_cached) {
    context.log.info("timing the decoding alone");
    stream.open(context, std::make_shared<const PicturesAlone>(stream.data.splits.training));
    const double alone_s = time_loader(context, *stream.loader, Images::kAsTheyCome).wall_s;
    out.figures.push_back({"decode_samples_s",
                           "rate of decoding alone, into batches",
                           samples / alone_s,
                           "samples/s",
                           {}});
    out.figures.push_back({"gpu_transform_ratio",
                           "rate by that of decoding alone",
                           alone_s / whole.wall_s,
                           "share",
                           {}});
  }
  if (context.options.against_one) add_scaling(context, stream, samples / whole.wall_s, out);
  stream.loader.reset();  // its threads would go on decoding
  out.figures.push_back(measure_opening(context, stream.data.statistics));
  if (is_cached) return out;
  add_decoding(context, *stream.data.splits.training, out);
  add_transform(context, *stream.data.splits.training, out);
  return out;
}

}  // namespace wam
