#include "apps/wamtrain/bench/encoders_bench.h"

#include <functional>
#include <string>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/randint.h>

#include "apps/wamtrain/bench/profiler.h"
#include "apps/wamtrain/bench/synthetic.h"
#include "apps/wamtrain/bench/timing.h"
#include "apps/wamtrain/encoders.h"
#include "core/cuda/device.h"
#include "data/tokenizer/tokenizer.h"
#include "models/text/umt5.h"

namespace wam {
namespace {

class EncodersBench {
 public:
  explicit EncodersBench(const BenchContext& context)
      : context_(context),
        clips_(context.options.clips.value_or(context.recipe.train.options.micro_batch)) {
    const WamConfig& c = context.recipe.model.config;
    out_.title = "frozen encoders";
    out_.settings = {
        {"model", c.preset},
        {"clips", std::to_string(clips_)},
        {"clip", fmt::format("{}x{}x{}", c.clip_frames(), c.target_height, c.target_width)},
        {"compute", std::string(name_of(context.recipe.options.precision.compute))}};
  }

  BenchResult run() {
    const at::NoGradGuard no_grad;
    if (wants(BenchEncoder::kVae) || wants(BenchEncoder::kClip)) pictures();
    if (wants(BenchEncoder::kText)) text();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool wants(BenchEncoder encoder) const {
    const BenchEncoder chosen = context_.options.encoder;
    return chosen == BenchEncoder::kAll || chosen == encoder;
  }
  [[nodiscard]] FrozenPlacement placement() const {
    return {.device = context_.device, .type = context_.type};
  }

  void pictures() {
    const WamConfig& c = context_.recipe.model.config;
    const auto encoders = load_encoders(context_.recipe, placement(), context_.log);
    // Channels innermost, as the loader's pictures lie.
    const at::Tensor video_BCTHW =
        random_values({clips_, c.clip_frames(), c.target_height, c.target_width, 3},
                      context_.device, context_.type, 0.5)
            .clamp_(-1.0, 1.0)
            .permute({0, 4, 1, 2, 3});
    const at::Tensor first_BCHW = video_BCTHW.select(2, 0);
    if (wants(BenchEncoder::kVae)) {
      add("", "video VAE", [&] { encoders->encode_video(video_BCTHW); });
      if (c.type == ModelType::kI2v) {
        add("first_frame_", "video VAE, first frame",
            [&] { encoders->encode_first_frame(first_BCHW, c.clip_frames()); });
      }
    }
    if (wants(BenchEncoder::kClip)) {
      add("image_", "CLIP", [&] { encoders->clip_features(first_BCHW); });
    }
  }

  void text() {
    const Tokenizer tokenizer(context_.recipe.options.model.components.tokenizer);
    const Umt5Encoder encoder =
        load_text_encoder(context_.recipe, tokenizer.vocabulary_size(), placement(), context_.log);
    const std::int64_t rows = context_.text_rows();
    const at::Tensor ids_BL =
        at::randint(1, tokenizer.vocabulary_size(), {clips_, rows}, at::kLong).to(context_.device);
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(clips_), rows);
    out_.settings.emplace_back("text_rows", std::to_string(rows));
    add("text_", "text encoder", [&] { static_cast<void>(encoder.encode(ids_BL, lengths)); });
  }

  // Times one encoder; the first one's kernels are shown.
  void add(const std::string& prefix, const std::string& title, const std::function<void()>& call) {
    context_.log.info(fmt::format("timing: {}", title));
    reset_peak_memory(context_.device);
    const CallTimes times = time_calls(context_.device, context_.options.steps, call);
    const auto peak = static_cast<double>(peak_memory_bytes(context_.device));
    const bool is_first = out_.figures.empty();
    out_.figures.push_back({prefix + "ms", title, 1e3 * times.median_s, "ms", {}});
    out_.figures.push_back({prefix + "peak_bytes", title + ", peak memory", peak, "bytes", {}});
    if (!is_first || !context_.options.phases) return;
    out_.step_ms = 1e3 * times.median_s;
    add_timeline(out_, context_, profiled(context_.device, context_.options.profile, call), 1);
    out_.notes.push_back(fmt::format("Kernels are those of: {}.", title));
  }

  const BenchContext& context_;
  std::int64_t clips_;
  BenchResult out_;
};

}  // namespace

BenchResult bench_encoders(const BenchContext& context) {
  return EncodersBench(context).run();
}

}  // namespace wam
